"""Commit subjects follow the rules of CONTRIBUTING.md."""

import re
import subprocess

from tests.documents import ROOT
from tests.test_language import AVOIDED

SUBJECT_MAX = 72
WRONG = re.compile(r"^[a-z]|\.$")


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_commit_subjects_are_short_and_avoid_forbidden_words():
    """Checks every commit since the creation of this file. In a folder without history, it checks none."""
    added = git("log", "--diff-filter=A", "--format=%H", "--", "tests/system/docs/test_commit_subjects.py")
    subjects = git("log", "--no-merges", "--format=%s", f"{added[-1]}..HEAD") if added else []
    wrong = [text for text in subjects if len(text) > SUBJECT_MAX or WRONG.search(text)]
    assert wrong + [text for text in subjects if AVOIDED.search(text)] == []
