"""GET /v1/bankdata/accounts/{user_id}: the accounts of all linked items."""

from hashlib import sha256

import pytest
from django.utils import timezone

from identity.bank.models import BankItem
from identity.providers.sandbox_bank import accounts_of
from tests.api import assert_error
from tests.identity.plaid_double import DoubleItem, Fault, account
from tests.identity.test_bankdata_exchange import exchange

pytestmark = pytest.mark.django_db
MEMBERS = {
    "account_id", "item_id", "name", "official_name", "mask", "type", "subtype", "currency", "available_cents",
    "current_cents", "limit_cents",
}  # fmt: skip


def read(api, user, query=""):
    return api.read(f"/bankdata/accounts/{getattr(user, 'pk', user)}{query}")


def test_it_lists_the_accounts_of_an_item(api, user):
    item_id = exchange(api, user).json()["item_id"]
    shown = read(api, user).json()
    assert (shown["item_ids"], shown["total"]) == ([item_id], 3)
    for one in shown["accounts"]:
        assert set(one) == MEMBERS
        assert one["item_id"] == item_id
        for name in ("available_cents", "current_cents"):
            assert type(one[name]) is int
    assert [one["limit_cents"] for one in shown["accounts"]] == [None, None, 500_000]


def test_the_same_public_token_gives_the_same_accounts_everywhere(api, user):
    item_id = exchange(api, user, "public-sandbox-same").json()["item_id"]
    assert item_id == f"item-sandbox-{sha256(b'public-sandbox-same').hexdigest()[:24]}"
    shown = read(api, user).json()["accounts"]
    assert [one["current_cents"] for one in shown] == [
        one["current_cents"] for one in accounts_of(item_id, timezone.now().date())
    ]
    assert read(api, user).json()["accounts"] == shown


def test_several_items_are_merged(api, user):
    linked = [exchange(api, user, f"public-sandbox-{number}").json()["item_id"] for number in range(2)]
    shown = read(api, user).json()
    assert (shown["item_ids"], shown["total"], len(shown["accounts"])) == (linked, 6, 6)


def test_without_a_linked_item_there_is_nothing(api, user):
    assert_error(read(api, user), 404, "E4008")


def test_the_demo_token_always_works(api, user):
    shown = read(api, user, "?access_token=access-sandbox-demo").json()
    assert (shown["item_ids"], shown["total"]) == (["item-sandbox-demo"], 3)


def test_a_token_replaces_the_stored_ones(api, user):
    first = exchange(api, user, "public-sandbox-1").json()["item_id"]
    exchange(api, user, "public-sandbox-2")
    token = BankItem.objects.get(item_id=first).access_token
    assert read(api, user, f"?access_token={token}").json()["item_ids"] == [first]


def test_anothers_token_is_refused(api, user, stranger, stranger_api):
    exchange(stranger_api, stranger)
    token = BankItem.objects.get().access_token
    body = assert_error(read(api, user, f"?access_token={token}"), 400, "E1001")
    assert token not in str(body)


@pytest.mark.parametrize("token", ["garbage", "access-sandbox-unknown", "%C3%A9"])
def test_a_forged_token_is_rejected(api, user, token):
    exchange(api, user)
    body = assert_error(read(api, user, f"?access_token={token}"), 400, "E1001")
    assert body["details"][0]["field"] == "access_token"


def test_a_login_that_is_required_comes_with_a_link_token(judged_plaid, api, user):
    item = judged_plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    exchange(api, user, "public-double-1")
    item.error = "ITEM_LOGIN_REQUIRED"
    body = assert_error(read(api, user), 502, "E5004")
    assert set(body["details"]) == {"item_id", "link_token", "expiration", "mode"}
    assert (body["details"]["item_id"], body["details"]["mode"]) == ("item-1", "update")
    stored = BankItem.objects.get()
    assert stored.needs_login
    (asked,) = judged_plaid.asked("/link/token/create")
    assert asked["access_token"] == stored.access_token
    # In update mode the person logs in again, and the token that we have works again.
    item.error = ""
    assert read(api, user).json()["total"] == 1
    assert not BankItem.objects.get().needs_login


def test_the_sandbox_plays_a_login_too(api, user):
    exchange(api, user, "public-sandbox-login-required")
    assert_error(read(api, user), 502, "E5004")
    assert read(api, user).json()["total"] == 3


def test_an_item_that_plaid_forgot_is_linked_again(plaid, api, user):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    exchange(api, user, "public-double-1")
    plaid.items.clear()
    body = assert_error(read(api, user), 502, "E5004")
    assert body["details"]["mode"] == "link"
    assert "access_token" not in plaid.asked("/link/token/create")[0]


def test_a_login_without_a_link_token_is_502(plaid, api, user):
    item = plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    exchange(api, user, "public-double-1")
    item.error = "ITEM_LOGIN_REQUIRED"
    plaid.fail("/link/token/create", Fault(500, b"x"))
    assert_error(read(api, user), 502, "E5003")


def test_a_token_that_plaid_refuses_is_400(plaid, api, user):
    assert_error(read(api, user, "?access_token=access-double-unknown"), 400, "E1001")
    assert plaid.asked("/accounts/get") == [{"access_token": "access-double-unknown"}]


def test_a_provider_that_fails_is_502(plaid, api, user):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    exchange(api, user, "public-double-1")
    for fault in (Fault(500, b"x"), Fault(drop=True), Fault(200, b"<html>")):
        plaid.fail("/accounts/get", fault)
        assert_error(read(api, user), 502, "E5003")


def test_items_of_another_provider_are_not_asked(plaid, api, user, settings):
    settings.OPEN_BANKING = "sandbox"
    exchange(api, user)
    settings.OPEN_BANKING = "plaid"
    assert_error(read(api, user), 404, "E4008")
