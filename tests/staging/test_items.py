"""`GET /staging/items` and `GET /staging/items/{id}`."""

import pytest

from tests.api import assert_error
from tests.factories import StagedItemFactory
from tests.staging.conftest import odd_ids

STATUSES = ["staged", "approved", "rejected", "expired"]


def ids(response):
    assert response.status_code == 200, response.content
    return [item["id"] for item in response.json()["items"]]


@pytest.fixture
def items(user, stranger):
    """One item in each status, by status; and one of a stranger."""
    StagedItemFactory(user=stranger)
    return {status: StagedItemFactory(user=user, status=status) for status in STATUSES}


def test_the_list_shows_what_is_staged_and_nobody_elses(api, items):
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


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "E1006"), ("limit=101", "E1006"), ("limit=x", "E1006"), ("offset=-1", "E1006"),
        ("offset=9223372036854775808", "E1006"), ("limit=1&limit=2", "E1006"), ("status=bogus", "E1004"),
        ("status=", "E1004"), ("kind=bogus", "E1001"), ("kind=", "E1001"), ("kind=%00", "E1001"),
    ],
)  # fmt: skip
def test_a_parameter_of_the_wrong_shape_is_refused(api, query, code):
    assert_error(api.read(f"/staging/items?{query}"), 400, code)


def test_somebody_elses_item_is_not_found(stranger_api, items):
    for item in items.values():
        assert_error(stranger_api.read(f"/staging/items/{item.pk}"), 404, "E4007")


def test_another_spelling_of_an_id_is_not_found(api, items):
    for spelling in odd_ids(items["staged"]):
        assert_error(api.read(f"/staging/items/{spelling}"), 404, "E4007")


def test_they_need_a_credential(anonymous, items):
    assert_error(anonymous.read("/staging/items"), 401, "E2001")
    assert_error(anonymous.read(f"/staging/items/{items['staged'].pk}"), 401, "E2001")


def test_other_methods_are_not_allowed(api, items):
    assert_error(api.remove(f"/staging/items/{items['staged'].pk}"), 405, "E4050")
    assert_error(api.replace("/staging/items", {}), 405, "E4050")


def test_a_list_takes_two_statements_and_an_item_one(api, items, no_rate_limits, django_assert_num_queries):
    api.read("/staging/items")
    with django_assert_num_queries(2):
        api.read("/staging/items")
    with django_assert_num_queries(1):
        api.read(f"/staging/items/{items['staged'].pk}")
