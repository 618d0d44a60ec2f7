"""The worked example of docs/develop/adding.md."""

import re
import subprocess

from tests.documents import ROOT


def test_diff_of_the_worked_example_in_the_docs_applies_to_the_current_commit():
    page = (ROOT / "docs/develop/adding.md").read_text()
    diff = re.search(r"^```diff\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1]
    done = subprocess.run(
        ["git", "apply", "--check", "-"], cwd=ROOT, input=diff, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_migration_of_the_worked_example_in_the_docs_follows_the_newest_migration():
    page = (ROOT / "docs/develop/adding.md").read_text()
    newest = max(file.stem for file in (ROOT / "claims/migrations").glob("0*.py"))
    assert re.search(r"^\+ +\('claims', '(\w+)'\),$", page, re.MULTILINE)[1] == newest
