"""GET /hash/{hash} (specification section 4.3)."""

import pytest

from tests.ledger.conftest import assert_error

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]

ABSENT = "ab" * 32


def test_an_anchored_hash_shows_its_record_in_any_case(client):
    anchored = client.anchor("hello").json()["hash"]
    body = client.get(f"/hash/{anchored.upper()}").json()
    assert list(body) == ["verified", "hash", "user_id", "report_type", "block_number", "timestamp"]
    assert (body["verified"], body["hash"], body["user_id"]) == (True, anchored, "42")
    assert body["timestamp"].endswith("Z")
    assert len(body["timestamp"]) == 27


def test_an_absent_hash_is_200_and_not_verified(client):
    response = client.get(f"/hash/{ABSENT}")
    assert response.status_code == 200
    assert response.json() == {"verified": False, "hash": ABSENT, "message": response.json()["message"]}


@pytest.mark.parametrize("prefer", ["handling=strict", "wait=5, handling=strict", 'handling="strict"; x=y'])
def test_an_absent_hash_is_404_for_who_prefers_it(client, prefer):
    assert_error(client.get(f"/hash/{ABSENT}", headers={"prefer": prefer}), 404, "E4001")


def test_another_preference_changes_nothing(client):
    assert client.get(f"/hash/{ABSENT}", headers={"prefer": "handling=lenient"}).status_code == 200


def test_the_earliest_of_several_entries_is_shown(client):
    client.anchor("hello", user="1")
    later = client.anchor("hello", user="2").json()
    assert client.get(f"/hash/{later['hash']}").json()["user_id"] == "1"


@pytest.mark.parametrize(
    "bad", ["a" * 63, "a" * 65, "g" * 64, "%00" + "a" * 63, "a" * 63 + "%20", "0x" + "a" * 62, "é" * 64]
)
def test_what_is_no_hash_is_refused(client, bad):
    assert_error(client.get(f"/hash/{bad}"), 400, "E7001")


@pytest.mark.parametrize("path", ["/hash", "/hash/", f"/hash/{ABSENT}/", f"//hash/{ABSENT}", f"/hash/{ABSENT}/x"])
def test_neighbouring_addresses_do_not_exist(client, path):
    assert_error(client.get(path), 404, "E4001")


def test_head_has_the_length_and_no_body(client):
    response = client.head(f"/hash/{ABSENT}")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["Content-Length"]) > 0
