"""The standalone verifier of decision bundles: results, exit statuses, and imports."""

import ast
import json
import subprocess
import sys
from pathlib import Path

from credit.anchoring import verify_decision
from tests.credit.scoring.bundles import KEY, RECORD_KEYS, bundle, recorded
from tests.credit.scoring.test_verifier_robustness import GARBAGE
from tests.credit.scoring.test_verify_decision import NAMES

FILE = Path(verify_decision.__file__)


class TestStandaloneScript:
    """The verifier, run as a copy without packages and without the project."""

    KEYS = ("--ledger-key", KEY, "--platform-key", "record-keys.json")

    def run(self, folder, content, *arguments):
        (folder / "record-keys.json").write_text(RECORD_KEYS)
        (folder / "verify_decision.py").write_bytes(FILE.read_bytes())
        (folder / "bundle.json").write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return subprocess.run(
            [sys.executable, "-I", "-S", "verify_decision.py", "bundle.json", *arguments],
            cwd=folder, env={}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def test_decision_verifier_script_accepts_a_valid_bundle(self, tmp_path):
        done = self.run(tmp_path, bundle(), *self.KEYS)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert done.stdout.splitlines()[-1] == "The decision holds."
        assert [line.split()[1].rstrip(":") for line in done.stdout.splitlines()[:-1]] == NAMES

    def test_decision_verifier_script_without_a_key_returns_exit_status_3(self, tmp_path):
        for keys, missing in (((), "platform, signature"), (self.KEYS[:2], "platform"), (self.KEYS[2:], "signature")):
            done = self.run(tmp_path, bundle(), *keys)
            verdict = f"No error was found, but a key is missing, so it could be a forgery. Not checked: {missing}."
            assert (done.returncode, done.stdout.splitlines()[-1]) == (3, verdict)

    def test_decision_verifier_script_returns_exit_status_4_for_an_unsigned_bundle(self, tmp_path):
        fields = {**recorded(bundle(), decided_at="2025-11-22T12:00:00.000000Z"), "signature": None}
        done = self.run(tmp_path, fields, *self.KEYS)
        verdict = "The record is unsigned: nothing shows that the platform wrote it."
        assert (done.returncode, done.stdout.splitlines()[-1]) == (4, verdict)

    def test_decision_verifier_script_reports_unchecked_steps_for_erased_facts(self, tmp_path):
        done = self.run(tmp_path, {**bundle(), "facts": None, "nonce": None}, *self.KEYS)
        verdict = "The decision holds. Not checked: facts, total, outcome, reasons."
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, verdict)

    def test_decision_verifier_script_rejects_a_tampered_bundle(self, tmp_path):
        done = self.run(tmp_path, recorded(bundle(), total=551))
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.splitlines()[-1] == "The decision does not hold: total."

    def test_decision_verifier_script_escapes_terminal_control_characters(self, tmp_path):
        done = self.run(tmp_path, recorded(bundle(), changed_by="\x1b[2J", application_id="\x1b]0;x\x07é"))
        assert done.returncode == 3
        assert "\x1b" not in done.stdout

    def test_decision_verifier_script_prints_no_traceback_for_a_malformed_or_missing_file(self, tmp_path):
        for content in GARBAGE[:9]:
            done = self.run(tmp_path, content)
            assert (done.returncode, done.stderr) == (1, ""), content
        (tmp_path / "bundle.json").unlink()
        done = subprocess.run(
            [sys.executable, str(FILE), "bundle.json"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (1, "")

    def test_decision_verifier_script_imports_only_the_standard_library_of_python_3_9(self):
        tree = ast.parse(FILE.read_text(), feature_version=(3, 9))
        imported = {
            (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
        }  # fmt: skip
        assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
