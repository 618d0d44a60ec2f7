"""`GET /staging/items` and `GET /staging/items/{id}`."""

import pytest

from tests.api import assert_error
from tests.factories import StagedItemFactory

STATUSES = ["staged", "approved", "rejected", "expired"]


def ids(response):
    assert response.status_code == 200, response.content
    return [item["id"] for item in response.json()["items"]]


@pytest.fixture
def items(user, stranger):
    """One item in each status, by status; and one of a stranger."""
    StagedItemFactory(user=stranger)
    return {status: StagedItemFactory(user=user, status=status) for status in STATUSES}


def test_the_list_has_only_the_accounts_own_items(api, items):
    body = api.read("/staging/items").json()
    assert (body["total"], body["has_more"]) == (1, False)
    assert [item["id"] for item in body["items"]] == [str(items["staged"].pk)]
    assert body["items"][0] == api.read(f"/staging/items/{items['staged'].pk}").json()


@pytest.mark.parametrize("status", STATUSES)
def test_decided_items_are_listed_when_asked_for_and_shown_by_id(api, items, status):
    assert ids(api.read(f"/staging/items?status={status}")) == [str(items[status].pk)]
    item = api.read(f"/staging/items/{items[status].pk}").json()
    assert item["status"] == status
    assert (item["decided_at"] is None) == (status == "staged")


def test_the_list_is_narrowed_by_kind(api, user):
    note = StagedItemFactory(user=user)
    claim = StagedItemFactory(user=user, kind="claim", payload={"publication_id": "x", "claim_type": "author"})
    assert ids(api.read("/staging/items?kind=note")) == [str(note.pk)]
    assert ids(api.read("/staging/items?kind=claim&status=staged")) == [str(claim.pk)]
    assert ids(api.read("/staging/items?kind=claim&status=approved")) == []


def test_pages_follow_each_other_newest_first(api, user):
    staged = [str(StagedItemFactory(user=user).pk) for _ in range(23)][::-1]
    first, second = api.read("/staging/items").json(), api.read("/staging/items?offset=20").json()
    assert [item["id"] for item in first["items"] + second["items"]] == staged
    assert (first["total"], first["has_more"], second["total"], second["has_more"]) == (23, True, 23, False)
    assert ids(api.read("/staging/items?limit=2&offset=21")) == staged[21:]
    assert ids(api.read("/staging/items?offset=9223372036854775807")) == []


def test_an_unknown_kind_is_refused(api):
    assert_error(api.read("/staging/items?kind=bogus"), 400, "E1001")
