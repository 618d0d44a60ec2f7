"""The worked example of docs/develop/adding.md applies to this commit."""

import re
import subprocess

from tests.documents import ROOT


def test_worked_example_of_an_appeal_applies():
    page = (ROOT / "docs/develop/adding.md").read_text()
    diff = re.search(r"^```diff\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1]
    checked = subprocess.run(
        ["git", "apply", "--check", "-"], cwd=ROOT, input=diff, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
