"""Test that the page of facts lists the facts of the catalog."""

import re

from credit.core.facts import PATHS, SOURCES, catalogue
from tests.documents import page

GUIDE = page("reference/facts.md")


def test_documented_fact_table_matches_the_fact_catalog():
    section = GUIDE.partition("## Facts\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (\w*) ?\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)
    assert rows == [
        (fact.name, fact.type, fact.unit or "", fact.source, fact.meaning) for fact in [*catalogue().values(), *PATHS]
    ]


def test_documented_source_table_matches_the_fact_catalog():
    section = GUIDE.partition("## Sources\n")[2].partition("\n## ")[0]
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)) == SOURCES
