"""Run JPMML, a third-party scoring engine, in a separate process for any number of scorecards.

`python -m tests.system.credit.scoring.jpmml` reads a line of JSON for each scorecard, `{"pmml": …, "rows": [{field:
value}, …]}`. For each, it prints a line: the total and the ranked reason codes of each row.
"""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec

from tests.product import ROOT

WHY_NOT = next(
    (
        why
        for why, is_so in (
            ("needs java", shutil.which("java") is None),
            ("needs the package jpmml-evaluator", find_spec("jpmml_evaluator") is None),
        )
        if is_so
    ),
    "",
)


class Engine:
    """A JPMML process that computes scorecards while the block runs."""

    def __enter__(self):
        command = [sys.executable, "-W", "ignore", "-m", "tests.system.credit.scoring.jpmml"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(timeout=120)

    def compute(self, document, rows):
        """Return `(total, reason codes)` for each row."""
        self._process.stdin.write(json.dumps({"pmml": document.decode(), "rows": rows}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, list), answer
        return [(total, codes) for total, codes in answer]


def _computed(card):
    from jpmml_evaluator import make_evaluator

    evaluator = make_evaluator(card["pmml"].encode())
    answers = []
    for row in card["rows"]:
        evaluation = evaluator.evaluate(row)
        ranks = sorted(
            (name for name in evaluation if name and name.startswith("reason ")), key=lambda name: int(name[7:])
        )
        answers.append([evaluation["total"], [evaluation[name] for name in ranks if evaluation[name] is not None]])
    return answers


def _main():
    for line in sys.stdin:
        try:
            answer = _computed(json.loads(line))
        except Exception as error:  # noqa: BLE001  the test reports any error
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _main()
