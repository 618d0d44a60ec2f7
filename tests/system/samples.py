"""Run the code samples of an OpenAPI document unchanged, with `KEY` in the environment."""

import os
import subprocess
import sys
from pathlib import Path

from config.api.samples import samples

TOOLS = Path(__file__).parent / "clients" / "node_modules" / ".bin"
DEADLINE_SECONDS = 120
# The file and the command of each language, and the code that prints the status of the last response.
_FILES = {"curl": "sample.sh", "Python": "sample.py", "TypeScript": "sample.ts"}
_COMMANDS = {"curl": ["bash", "-eu"], "Python": [sys.executable], "TypeScript": [str(TOOLS / "tsx")]}
_FIRST = {"curl": "curl() { command curl -sS -w '\\n%{http_code}\\n' \"$@\"; }\n"}
_LAST = {"Python": "\nprint(answer.status_code)\n", "TypeScript": "\nconsole.log(answer.status);\n"}


def missing(language):
    """Return the requirement of a language that this machine lacks, or an empty string."""
    if language == "TypeScript" and not (TOOLS / "tsx").exists():
        return "needs the tools from npm: run `npm ci` in tests/system/clients"
    return ""


class Reader:
    """Runs the samples of an OpenAPI document in one language, with the IDs of the target server."""

    def __init__(self, document, root, *, key, folder, language):
        self._document = {**document, "servers": [{"url": root}]}
        self._key, self.folder, self._language = key, folder, language
        self.statuses = []
        (folder / "package.json").write_text('{"type": "module"}')

    def run(self, operation_id, *, body=None, query=None, **path):
        """Run an operation's sample; return its output. Fails if the response is not a documented success."""
        address, method, operation = self._find(operation_id)
        for parameter in operation.get("parameters", ()):
            if parameter["name"] in path:
                parameter["example"] = path[parameter["name"]]
        if body is not None:
            next(iter(operation["requestBody"]["content"].values()))["example"] = body
        sources = {
            sample["label"]: sample["source"] for sample in samples(self._document, address, method, query or {})
        }
        printed, status = self._paste(sources[self._language])
        assert status in operation["responses"], (operation_id, printed)
        assert status.startswith("2"), (operation_id, printed)
        self.statuses.append(status)
        return printed

    def _find(self, operation_id):
        for address, operations in self._document["paths"].items():
            for method, operation in operations.items():
                if operation["operationId"] == operation_id:
                    return address, method, operation
        raise AssertionError(f"no operation {operation_id}")

    def _paste(self, source):
        file = self.folder / _FILES[self._language]
        file.write_text(_FIRST.get(self._language, "") + source + _LAST.get(self._language, ""))
        done = subprocess.run(
            [*_COMMANDS[self._language], file.name], cwd=self.folder, env={**os.environ, "KEY": self._key},
            capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, source + done.stdout + done.stderr
        printed, _, status = done.stdout.rstrip("\n").rpartition("\n")
        return printed, status
