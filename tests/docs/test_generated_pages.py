"""Test that the event catalog, the scope table, and the error pages list what the code declares."""

import json
import re

import pytest
from django.contrib.auth.models import Group

from config.docs.source import write_source
from config.webhooks.catalogue import event_types
from credit.models import ProviderMember
from identity.access.scopes import SCOPES
from tests.documents import ROOT, page


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "source"
    write_source(folder)
    return folder / "reference"


def test_event_catalog_lists_every_type_with_its_description(source):
    rows = re.findall(r"^\| `([\w.]+\.\w+)` \| (.+) \|$", (source / "events.md").read_text(), re.MULTILINE)
    assert dict(rows) == {name: event_type.description for name, event_type in event_types().items()}


def test_documented_scope_table_lists_every_scope(source):
    section = (source / "scopes.md").read_text().partition("## Operations by scope\n")[2]
    assert re.findall(r"^\| `([\w:]+)` \| `", section, re.MULTILINE) == sorted(SCOPES)


def test_error_pages_link_to_the_operations_that_return_the_error(source):
    texts = {file.stem: file.read_text() for file in source.parent.glob("errors/*.md")}
    assert '<a href="/v1/docs?q=E3011">operations with this error</a>' in texts["E3011"]
    for shared_or_of_the_ledger in ("E2001", "E7001"):
        assert "/v1/docs?q=" not in texts[shared_or_of_the_ledger]
    assert "the lender must decide again" in (source.parent / "errors/E3011.md").read_text()


def test_instructions_on_error_pages_refer_to_existing_operations(source):
    paths = json.loads((ROOT / "tests/openapi.json").read_text())["paths"]
    fixes = [re.search(r"^\*\*Fix:\*\* (.+)$", file.read_text(), re.M)[1] for file in source.parent.glob("errors/*.md")]
    operations = re.findall(r"`([A-Z]+) (/v1/\S+)`", "\n".join(fixes))
    assert operations
    assert [path for method, path in operations if method.lower() not in paths.get(path, {})] == []


def test_documented_role_tables_list_every_role_and_group(db):
    text = page("reference/scopes.md")
    roles = text.partition("members\n")[2].partition("\n## ")[0]
    groups = text.partition("## Groups of accounts\n")[2]
    assert re.findall(r"^\| `(\w+)`", roles, re.MULTILINE) == list(reversed(ProviderMember.ROLES))
    assert sorted(re.findall(r"^\| `(\w+)`", groups, re.MULTILINE)) == sorted(
        Group.objects.values_list("name", flat=True)
    )


def test_scopes_page_lists_the_groups_that_can_read_and_the_groups_that_can_review(db):
    decisions = dict(re.findall(r"^\| staff in the group `(\w+)` \| ([^|]+) \|", page("reference/scopes.md"), re.M))
    can_read = Group.objects.filter(permissions__codename="view_application").values_list("name", flat=True)
    assert {group for group, reads in decisions.items() if reads != "none"} == set(can_read)
    rows = re.findall(r"^\| staff in the group `(\w+)` \|.+\| (yes|no) \| no \|$", page("reference/scopes.md"), re.M)
    can_decide = Group.objects.filter(permissions__codename="review_application").values_list("name", flat=True)
    assert [group for group, decides in rows if decides == "yes"] == list(can_decide)
