"""GET /checkpoint and /key: what verifiers are configured with and begin from."""

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from ledger.checkpoint import Verifier
from tests.ledger import foreign
from tests.ledger.conftest import assert_error, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def test_the_checkpoint_verifies_abroad_with_the_published_key(client):
    seal_reports(["a", "b", "c"])
    key = client.get("/key").json()
    response = client.get("/checkpoint")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    head = foreign.open_checkpoint(response.content.decode(), key["vkey"])
    assert (head.origin, head.size) == (key["origin"], 3)


def test_an_empty_log_has_signed_nothing(client):
    assert_error(client.get("/checkpoint"), 404, "E4001")


def test_pem_and_verifier_key_are_the_same_key(client):
    key = client.get("/key").json()
    assert set(key) == {"origin", "vkey", "pem", "previous", "next"}
    assert (key["previous"], key["next"]) == (None, None)
    public = load_pem_public_key(key["pem"].encode()).public_bytes_raw()
    assert Verifier(key["origin"], public).vkey == key["vkey"]


def test_logs_that_follow_each_other_are_linked(client, settings):
    settings.LEDGER_PREVIOUS_URL, settings.LEDGER_NEXT_URL = "https://old.example", "https://new.example"
    key = client.get("/key").json()
    assert (key["previous"], key["next"]) == ("https://old.example", "https://new.example")


@pytest.mark.parametrize("accept", ["text/plain", "*/*", "text/*;q=0.5", "application/json"])
def test_who_takes_text_gets_it(client, accept):
    seal_reports(["a"])
    assert client.get("/checkpoint", headers={"accept": accept}).status_code == 200


def test_who_takes_neither_text_nor_json_is_refused(client):
    assert_error(client.get("/checkpoint", headers={"accept": "image/png"}), 406, "E1014")
