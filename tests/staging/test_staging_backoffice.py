"""Staging at the back office: looked at, never decided."""

import pytest
from django.utils import timezone

from config.core.lifecycle import Actor
from staging.services import approve_item
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import links_of, text_of
from tests.factories import StagedItemFactory, UserFactory

LIST = "/admin/staging/stageditem/"


@pytest.fixture
def backoffice(db):
    return backoffice_client(staff_of("Reviewer", username="rita"))


@pytest.fixture
def item(db):
    return StagedItemFactory(user=UserFactory(username="jane"), source="bankdata")


def linked(response):
    return {link.partition("?")[0] for link in links_of(response)}


def test_items_are_found_by_id_person_kind_and_status(backoffice, item):
    other = StagedItemFactory(kind="claim", status="rejected")
    for query in ({"q": str(item.pk)}, {"q": "jan"}, {"q": str(item.user_id)}, {"kind": "note"}, {"status": "staged"}):
        response = backoffice.get(LIST, query)
        assert f"{LIST}{item.pk}/change/" in linked(response), query
        assert f"{LIST}{other.pk}/change/" not in linked(response), query


def test_a_page_shows_the_payload_and_what_it_became(backoffice, item):
    actor = Actor(user=item.user, credential="jwt:x")
    stored_id = approve_item(str(item.pk), actor=actor, now=timezone.now()).stored_id
    text = text_of(backoffice.get(f"{LIST}{item.pk}/change/"))
    assert "Call the bank." in text
    assert item.payload_sha256 in text
    assert stored_id in text
    note = backoffice.get(f"/admin/staging/note/{stored_id}/change/")
    assert "Call the bank." in text_of(note)
    assert f"/admin/staging/note/{stored_id}/change/" in linked(backoffice.get("/admin/staging/note/", {"q": "jane"}))


def test_operations_does_not_see_it(item):
    backoffice = backoffice_client(staff_of("Operations", username="omar"))
    assert backoffice.get(LIST).status_code == 403
