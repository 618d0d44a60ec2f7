"""POST /v1/sandbox/bank-items/{id}/require-login: a bank that asks for a new log-in, when one wants it to."""

import pytest

from identity.bank.models import BankItem
from tests.api import assert_error
from tests.identity.test_bankdata_exchange import exchange

pytestmark = pytest.mark.django_db


def require(client, item_id):
    return client.call("POST", f"/sandbox/bank-items/{item_id}/require-login")


@pytest.mark.parametrize("read", ["accounts", "transactions"])
def test_the_next_read_asks_for_a_log_in_once(api, user, read):
    item_id = exchange(api, user).json()["item_id"]
    answer = require(api, item_id)
    assert (answer.status_code, answer.json()) == (200, {"item_id": item_id, "login_required": True})
    refused = assert_error(api.read(f"/bankdata/{read}/{user.pk}"), 502, "E5004")
    assert refused["details"]["item_id"] == item_id
    assert refused["details"]["mode"] == "update"
    assert BankItem.objects.get().needs_login
    assert api.read(f"/bankdata/{read}/{user.pk}").status_code == 200
    assert not BankItem.objects.get().needs_login


def test_other_items_are_left_alone(api, user, stranger, stranger_api):
    item_id = exchange(api, user).json()["item_id"]
    exchange(stranger_api, stranger, "public-sandbox-theirs")
    assert require(api, item_id).status_code == 200
    assert stranger_api.read(f"/bankdata/accounts/{stranger.pk}").status_code == 200


def test_a_real_provider_is_not_played(api, user, settings):
    item_id = exchange(api, user).json()["item_id"]
    settings.OPEN_BANKING = "plaid"
    assert_error(require(api, item_id), 404, "E4008")
