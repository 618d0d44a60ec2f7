"""The blocks of docs/guides/commerce.md run unchanged, and print the documented responses."""

import json
import os
import re
import subprocess
from io import StringIO

import pytest
from django.core.management import call_command

from tests.documents import page
from tests.processes import PATIENCE_SECONDS

GUIDE = page("guides/commerce.md")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE, flags=re.DOTALL | re.MULTILINE)
CUT = "…"


@pytest.fixture
def running(committed, bookless, live_server, settings, tmp_path):
    """The environment variables of the guide, for a server with the demo's data."""
    settings.VAR_DIR = tmp_path / "var"  # the blocks read `var` in their working directory
    settings.VAR_DIR.mkdir()
    settings.BASE_URL = f"{live_server.url}/v1"
    out = StringIO()
    call_command("seed_demo", as_json=True, stdout=out)
    return {"BASE": settings.BASE_URL, "KEY": json.loads(out.getvalue().splitlines()[-1])["api_key"]}


def differences(documented, printed, path="$"):
    """Yield the path of each difference. Output can have further fields, and `…` matches the rest of a string."""
    if isinstance(documented, dict) and isinstance(printed, dict):
        for name, value in documented.items():
            yield from differences(value, printed.get(name), f"{path}.{name}")
    elif isinstance(documented, list) and isinstance(printed, list) and len(documented) == len(printed):
        for place, (item, other) in enumerate(zip(documented, printed, strict=True)):
            yield from differences(item, other, f"{path}[{place}]")
    elif isinstance(documented, str) and isinstance(printed, str) and documented.endswith(CUT):
        if not printed.startswith(documented.removesuffix(CUT)):
            yield path
    elif documented != printed:
        yield path


def test_every_request_of_the_commerce_guide_returns_the_documented_response(running, tmp_path):
    calls = [block for language, block in BLOCKS if language == "sh"]
    documented = [json.loads(block) for language, block in BLOCKS if language == "json"]
    assert len(calls) == len(documented) >= 5
    # Run all blocks in a single shell, like a reader who pastes one block after another.
    script = "\necho; echo --\n".join(calls)
    command, env = ["bash", "-euo", "pipefail", "-c", script], {**os.environ, **running}
    pasted = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert pasted.returncode == 0, pasted.stderr
    printed = [json.loads(part) for part in pasted.stdout.split("\n--\n")]
    for expected, item in zip(documented, printed, strict=True):
        assert list(differences(expected, item)) == [], item


def test_the_python_program_of_the_commerce_guide_prints_offers(running, monkeypatch, capsys):
    (program,) = [block for language, block in BLOCKS if language == "python"]
    for name, value in running.items():
        monkeypatch.setenv(name, value)
    exec(program, {})
    assert "Harbour personal loan from 6.9 % a year" in capsys.readouterr().out
