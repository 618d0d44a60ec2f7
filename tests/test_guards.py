"""Test that each text that `python -m tests.guards` removes occurs once and is documented."""

import re

from tests.documents import page
from tests.guards import GUARDS, TESTS
from tests.processes import ROOT


def test_each_text_that_the_guard_script_replaces_occurs_exactly_once_in_its_file():
    assert [guard.name for guard in GUARDS if (ROOT / guard.file).read_text().count(guard.old) != 1] == []


def test_documentation_lists_exactly_the_guards_of_the_guard_script():
    listed = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| `tests/(\S+\.py)` \|$", page("develop/tests.md"), re.MULTILINE)
    assert listed == [(guard.name, guard.tests) for guard in GUARDS]
    assert [file for _, file in listed if file.startswith("system/") or not (TESTS / file).exists()] == []
