"""Test that the ASVS page names existing tests."""

import re

from tests.documents import ROOT, page


def test_every_test_on_the_asvs_page_exists():
    named = set(re.findall(r"`(test_\w+|Test\w+)`", page("operate/asvs.md")))
    code = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20
    assert not {name for name in named if f"def {name}(" not in code and f"class {name}" not in code}


def test_every_asvs_requirement_has_one_row_with_its_tests():
    numbers = re.findall(r"^\| (\d\.\d\.\d+)", page("operate/asvs.md"), flags=re.MULTILINE)
    assert len(numbers) == len(set(numbers)) > 45
    rows = [line.split("|") for line in page("operate/asvs.md").splitlines() if re.match(r"\| \d", line)]
    files = {file for row in rows for file in re.findall(r"`([\w/]+\.py)`", row[4])}
    assert len(files) > 4
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert [row[1] for row in rows if not row[4].strip() and "there are none" not in row[3]] == []
