"""Run reasonsmith, a third-party auditor, in a separate process.

`python -m tests.system.credit.scoring.reasonsmith_checks` reads a line of JSON for each check, `{"folder": …, "pack":
…, "is_rules": …}`. For each, it prints a line: the verdict and the strength of each duty of the pack.
"""

import importlib.util
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.product import ROOT

WHY_NOT = "" if find_spec("reasonsmith") else "needs the package reasonsmith"


class Auditor:
    """A reasonsmith process that checks exported folders while the block runs."""

    def __enter__(self):
        command = [sys.executable, "-W", "ignore", "-m", "tests.system.credit.scoring.reasonsmith_checks"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(timeout=120)

    def check(self, folder, pack, *, is_rules=False):
        """Check the decisions of a folder, or with `is_rules` its rules; return `{duty: "verdict strength"}`."""
        self._process.stdin.write(json.dumps({"folder": str(folder), "pack": pack, "is_rules": is_rules}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, dict), answer
        return answer


def _rules_of(folder):
    spec = importlib.util.spec_from_file_location("exported_rules", folder / "rules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.system_under_test()


def _checked(folder, pack, *, is_rules):
    from reasonsmith.adapters.jsonl import JSONLAdapter
    from reasonsmith.report import check_conformance
    from reasonsmith.spec import load_pack

    system = _rules_of(folder) if is_rules else JSONLAdapter(folder / "decisions.jsonl")
    scope = "high-risk" if pack == "eu_ai_act" else None  # AI Act, Annex III, 5(b): creditworthiness of natural persons
    report = check_conformance(system, load_pack(pack), system_scope=scope, system_domains=["consumer-credit"])
    return {
        each.requirement_id: f"{each.verdict.value} {each.strength.value if each.strength else 'none'}"
        for each in report.results
    }


def _main():
    for line in sys.stdin:
        try:
            wanted = json.loads(line)
            answer = _checked(Path(wanted["folder"]), wanted["pack"], is_rules=wanted["is_rules"])
        except Exception as error:  # noqa: BLE001  the test reports any error
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _main()
