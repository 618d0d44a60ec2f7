"""The guards that `python -m tests.guards` takes out: each stands where the script looks, and in the documentation."""

import re

import pytest

from tests.documents import page
from tests.guards import GUARDS, TESTS
from tests.processes import ROOT


@pytest.mark.parametrize("guard", GUARDS, ids=[guard.name for guard in GUARDS])
def test_a_guard_stands_once_in_its_file(guard):
    assert (ROOT / guard.file).read_text().count(guard.old) == 1


def test_the_documented_guards_are_those_that_are_taken_out_and_are_missed_in_the_process():
    listed = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| `tests/(\S+\.py)` \|$", page("develop/tests.md"), re.MULTILINE)
    assert listed == [(guard.name, guard.tests) for guard in GUARDS]
    assert [file for _, file in listed if file.startswith("system/") or not (TESTS / file).exists()] == []
