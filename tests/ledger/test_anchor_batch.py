"""POST /anchor/batch: all or none, in one block."""

import pytest

from ledger.models import Block, Entry
from tests.ledger.conftest import assert_error

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def item(number, **changes):
    return {"user_id": "42", "report_type": "credit_report", "report_data": f"report {number}", **changes}


def test_a_thousand_reports_are_in_one_block_in_order(client):
    response = client.post_json("/anchor/batch", {"items": [item(number) for number in range(1000)]})
    body = response.json()
    assert response.status_code == 200
    assert body["block_number"] == 1
    assert [result["index"] for result in body["results"]] == list(range(1000))
    assert {result["block_number"] for result in body["results"]} == {1}
    assert Block.objects.count() == 1


def test_an_anchored_report_keeps_its_place(client):
    first = client.anchor("report 1").json()
    body = client.post_json("/anchor/batch", {"items": [item(0), item(1), item(0)]}).json()
    assert body["block_number"] == 2
    assert body["results"][1] == {**first, "duplicate": True}
    assert body["results"][2] == {**body["results"][0], "duplicate": True}


def test_a_batch_of_known_reports_makes_no_block(client):
    client.anchor("report 1")
    body = client.post_json("/anchor/batch", {"items": [item(1)]}).json()
    assert (body["block_number"], Block.objects.count()) == (1, 1)


@pytest.mark.parametrize("items", [None, [], {}, "x", [1], [{}], [item(0), item(1, user_id=5)], [item(0)] * 1001])
def test_one_bad_item_refuses_all(client, items):
    assert_error(client.post_json("/anchor/batch", {"items": items}), 400, "E1001")
    assert not Entry.objects.exists()


def test_a_report_that_is_too_long_refuses_all(client):
    items = [item(0), item(1, report_data="x" * (10 * 1024 * 1024 + 1))]
    assert_error(client.post_json("/anchor/batch", {"items": items}), 413, "E1007")
    assert not Entry.objects.exists()
