"""The worked example of docs/develop/adding.md."""

import re
import subprocess

from tests.documents import ROOT


def test_the_diff_of_the_worked_example_applies_to_this_commit():
    page = (ROOT / "docs/develop/adding.md").read_text()
    diff = re.search(r"^```diff\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1]
    done = subprocess.run(
        ["git", "apply", "--check", "-"], cwd=ROOT, input=diff, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
