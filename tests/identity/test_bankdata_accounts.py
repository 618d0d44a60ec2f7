"""Test linked bank items and their accounts, and POST /v1/bankdata/link-token."""

from hashlib import sha256

import pytest
from django.utils import timezone

from credit.scoring.known_facts import bank_figures
from identity.bank.models import BankAccount, BankItem
from identity.bank.services import stage_missing
from identity.providers.sandbox_bank import accounts_of
from tests.api import assert_error
from tests.identity.plaid_double import EXPIRATION, DoubleItem, Fault, account
from tests.identity.test_bankdata_exchange import exchange

pytestmark = pytest.mark.django_db
MEMBERS = {
    "account_id", "item_id", "name", "official_name", "mask", "type", "subtype", "currency", "available_cents",
    "current_cents", "limit_cents", "institution_id", "institution_name", "persistent_account_id", "exponent",
}  # fmt: skip


def read(api, user, query=""):
    return api.read(f"/bankdata/accounts/{getattr(user, 'pk', user)}{query}")


def test_bank_accounts_of_a_linked_item_are_listed(api, user):
    assert_error(read(api, user), 404, "E4008")
    item_id = exchange(api, user, "public-sandbox-same").json()["item_id"]
    assert item_id == f"item-sandbox-{sha256(b'public-sandbox-same').hexdigest()[:24]}"
    shown = read(api, user).json()
    assert (shown["item_ids"], shown["total"]) == ([item_id], 3)
    expected = [item["current_cents"] for item in accounts_of(item_id, timezone.now().date())]
    assert [item["current_cents"] for item in shown["accounts"]] == expected
    assert read(api, user).json() == shown
    for item in shown["accounts"]:
        assert set(item) == MEMBERS
        assert item["item_id"] == item_id
        for name in ("available_cents", "current_cents"):
            assert type(item[name]) is int
    assert [entry["limit_cents"] for entry in shown["accounts"]] == [None, None, 500_000]


def test_demo_access_token_returns_the_demo_bank_accounts(api, user):
    shown = read(api, user, "?access_token=access-sandbox-demo").json()
    assert (shown["item_ids"], shown["total"]) == (["item-sandbox-demo"], 3)


def test_bank_access_token_in_the_query_is_used_instead_of_the_stored_tokens(api, user):
    first = exchange(api, user, "public-sandbox-1").json()["item_id"]
    exchange(api, user, "public-sandbox-2")
    token = BankItem.objects.get(item_id=first).access_token
    assert read(api, user, f"?access_token={token}").json()["item_ids"] == [first]


def test_bank_access_token_of_another_account_is_rejected(api, user, stranger, stranger_api):
    exchange(stranger_api, stranger)
    token = BankItem.objects.get().access_token
    body = assert_error(read(api, user, f"?access_token={token}"), 400, "E1001")
    assert token not in str(body)


def test_forged_bank_access_token_is_rejected(api, user):
    exchange(api, user)
    for token in ("garbage", "access-sandbox-unknown", "%C3%A9"):
        body = assert_error(read(api, user, f"?access_token={token}"), 400, "E1001")
        assert body["details"][0]["field"] == "access_token"


def test_link_token_for_an_item_or_a_required_bank_log_in_is_in_update_mode(judged_plaid, api, user):
    item = judged_plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    exchange(api, user, "public-double-1")
    item.error = "ITEM_LOGIN_REQUIRED"
    body = assert_error(read(api, user), 502, "E5004")
    assert set(body["details"]) == {"item_id", "link_token", "expiration", "mode"}
    assert (body["details"]["item_id"], body["details"]["mode"]) == ("item-1", "update")
    stored = BankItem.objects.get()
    assert stored.needs_login
    (request,) = judged_plaid.requests_at("/link/token/create")
    assert request["access_token"] == stored.access_token
    # In update mode the user logs in again, and the stored token works again.
    item.error = ""
    assert read(api, user).json()["total"] == 1
    assert not BankItem.objects.get().needs_login
    response = api.send("/bankdata/link-token", {"user_id": str(user.pk), "item_id": "item-1"})
    assert response.status_code == 200
    assert judged_plaid.requests_at("/link/token/create")[-1]["access_token"] == stored.access_token


def test_error_for_a_bank_item_unknown_to_plaid_contains_a_new_link_token(plaid, api, user):
    plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    exchange(api, user, "public-double-1")
    plaid.items.clear()
    body = assert_error(read(api, user), 502, "E5004")
    assert body["details"]["mode"] == "link"
    assert "access_token" not in plaid.requests_at("/link/token/create")[0]
    plaid.fail("/link/token/create", Fault(500, b"x"))
    assert_error(read(api, user), 502, "E5003")
    assert_error(read(api, user, "?access_token=access-double-unknown"), 400, "E1001")
    assert plaid.requests_at("/accounts/get")[-1] == {"access_token": "access-double-unknown"}


def test_bank_items_of_another_vendor_are_ignored(plaid, api, user, settings):
    settings.OPEN_BANKING = "sandbox"
    exchange(api, user)
    settings.OPEN_BANKING = "plaid"
    assert_error(read(api, user), 404, "E4008")


def link_two(plaid, api, user):
    items = [plaid.offer(f"public-double-{n}", DoubleItem(f"item-{n}", [account(n, item=f"item-{n}")])) for n in (1, 2)]
    for number in (1, 2):
        exchange(api, user, f"public-double-{number}")
    return items


def test_failing_bank_item_does_not_hide_other_bank_items(plaid, api, user):
    failing, _item = link_two(plaid, api, user)
    for code, status, error in (
        ("ITEM_LOGIN_REQUIRED", "login_required", "E5004"), ("ITEM_LOCKED", "login_required", "E5004"),
        ("ACCESS_NOT_GRANTED", "login_required", "E5004"), ("ITEM_NOT_FOUND", "gone", "E5004"),
        ("INVALID_ACCESS_TOKEN", "gone", "E5004"), ("INSTITUTION_NO_LONGER_SUPPORTED", "gone", "E5004"),
        ("INSTITUTION_DOWN", "bank_down", "E5003"), ("INSTITUTION_NOT_RESPONDING", "bank_down", "E5003"),
        ("A_CODE_OF_TOMORROW", "bank_down", "E5003"), ("INVALID_API_KEYS", "internal", "E5003"),
        ("INSTITUTION_REGISTRATION_REQUIRED", "internal", "E5003"), ("NO_LONGER_AVAILABLE", "internal", "E5003"),
        ("PLANNED_MAINTENANCE", "bank_down", "E5003"),
        ("INVALID_FIELD", "internal", "E5003"), ("USER_PERMISSION_REVOKED", "gone", "E5004"),
        ("ADDITIONAL_CONSENT_REQUIRED", "login_required", "E5004"), ("NO_ACCOUNTS", "login_required", "E5004"),
    ):  # fmt: skip
        failing.error = code
        BankItem.objects.update(gone_at=None, needs_login=False)
        for path in ("transactions", "accounts"):
            response = api.read(f"/bankdata/{path}/{user.pk}")
            assert response.status_code == 200
            failed, read_item = response.json()["items"]
            shown = (failed["item_id"], failed["status"], failed["error"]["code"])
            assert shown == ("item-1", status, error), (path, code)
            assert read_item == {"item_id": "item-2", "status": "ok", "error": None}
        assert (response.json()["item_ids"], response.json()["total"]) == (["item-2"], 1)


def test_linking_a_bank_again_replaces_the_removed_item(plaid, api, user):
    first = link_two(plaid, api, user)[0]
    first.error = "ITEM_NOT_FOUND"
    read(api, user)
    assert BankItem.objects.get(item_id="item-1").gone_at is not None
    plaid.offer("public-double-3", DoubleItem("item-3", [account(3)]))
    exchange(api, user, "public-double-3")
    assert read(api, user).json()["item_ids"] == ["item-2", "item-3"]


def test_unlinked_bank_item_is_removed_at_the_vendor(plaid, api, user, django_capture_on_commit_callbacks):
    link_two(plaid, api, user)
    token = BankItem.objects.get(item_id="item-1").access_token
    with django_capture_on_commit_callbacks(execute=True):
        assert api.call("DELETE", "/bankdata/items/item-1").status_code == 200
    assert plaid.removed == [token]
    assert [item["item_id"] for item in read(api, user).json()["items"]] == ["item-2"]
    assert_error(api.call("DELETE", "/bankdata/items/item-1"), 404, "E4008")


def test_bank_item_unlinked_during_an_outage_is_removed_later(plaid, api, user, django_capture_on_commit_callbacks):
    link_two(plaid, api, user)
    plaid.fail("/item/remove", Fault(500, b"x"), Fault(drop=True))
    with django_capture_on_commit_callbacks(execute=True):
        api.call("DELETE", "/bankdata/items/item-1")
    assert read(api, user).json()["item_ids"] == ["item-2"]
    assert stage_missing(now=timezone.now())["not_removed"] == 1
    assert stage_missing(now=timezone.now())["not_removed"] == 0
    assert (len(plaid.removed), BankItem.objects.count()) == (1, 1)


def test_bank_item_of_another_account_cannot_be_unlinked(api, user, stranger, stranger_api):
    item_id = exchange(stranger_api, stranger).json()["item_id"]
    assert_error(api.call("DELETE", f"/bankdata/items/{item_id}"), 404, "E4008")
    assert_error(api.send("/bankdata/link-token", {"user_id": str(user.pk), "item_id": item_id}), 404, "E4008")
    assert BankItem.objects.get().unlinked_at is None


def test_bank_amounts_are_in_the_minor_unit_of_the_currency(plaid, api, user):
    amounts = (
        ("USD", 12.34, 2, 1_234), ("JPY", 1_000_000, 0, 1_000_000), ("KRW", 5_000, 0, 5_000), ("KWD", 1.234, 3, 1_234),
        ("CLP", 990, 0, 990), ("EUR", 0.5, 2, 50), ("BHD", 1, 3, 1_000), ("VND", 25_000, 0, 25_000),
        ("ISK", 100, 0, 100), ("TND", 0.001, 3, 1), ("CHF", 10.05, 2, 1_005),
    )  # fmt: skip
    entries = [
        account(number, balances={"available": None, "current": amount, "limit": None, "iso_currency_code": currency})
        for number, (currency, amount, _exponent, _units) in enumerate(amounts)
    ]
    plaid.offer("public-double-1", DoubleItem("item-1", entries))
    exchange(api, user, "public-double-1")
    shown = [(row["currency"], row["exponent"], row["current_cents"]) for row in read(api, user).json()["accounts"]]
    assert shown == [(currency, exponent, units) for currency, _amount, exponent, units in amounts]


def approve_accounts(api, user):
    ids = api.read("/staging/items?kind=bank_account").json()["items"]
    for item in ids:
        assert api.send(f"/staging/approve/{item['id']}", {"user_id": str(user.pk)}).status_code == 200


CHECKING = {"name": "Plaid Checking", "mask": "0000", "type": "depository", "subtype": "checking"}
SAVING = {"name": "Plaid Saving", "mask": "1111", "type": "depository", "subtype": "savings"}
CD = {"name": "Plaid CD", "mask": "2222", "type": "depository", "subtype": "cd"}
MONEY_MARKET = {"name": "Plaid Money Market", "mask": "4444", "type": "depository", "subtype": "money market"}
TOKENIZED = "8cfb8beb89b774ee43b090625f0d61d0814322b43bff984eaf60386e"


def test_bank_account_linked_twice_is_listed_and_totaled_once(plaid, api, user):
    for first, second, count in (
        ({"persistent_account_id": "p1"}, {"persistent_account_id": "p1", "name": "Renamed"}, 1),
        ({"persistent_account_id": "p1"}, {"persistent_account_id": "p2"}, 2),
        ({"mask": "1234"}, {"mask": "1234"}, 1), ({"mask": "1234"}, {"mask": "5678"}, 2),
        ({"mask": "1234", "name": "Joint"}, {"mask": "1234", "name": "Own"}, 2),
        ({"mask": "1234", "subtype": "savings"}, {"mask": "1234"}, 2), ({"mask": None}, {"mask": None}, 2),
        # These are accounts of Plaid's sandbox, and cases of its rules for duplicate items and tokenized accounts.
        (CHECKING, CHECKING, 1), (SAVING, SAVING, 1), (CHECKING, SAVING, 2), (MONEY_MARKET, MONEY_MARKET, 1),
        (MONEY_MARKET, SAVING, 2), (CD, CD, 1), (CD, {**CD, "mask": "2223"}, 2),
        (CHECKING, {**CHECKING, "official_name": "Plaid Gold Standard 0% Interest Checking"}, 1),
        ({**CHECKING, "persistent_account_id": TOKENIZED}, {**CHECKING, "persistent_account_id": TOKENIZED}, 1),
        ({**CHECKING, "persistent_account_id": TOKENIZED}, {**CHECKING, "mask": "9001",
          "persistent_account_id": TOKENIZED}, 1),
        ({**CHECKING, "persistent_account_id": TOKENIZED}, CHECKING, 1), (CHECKING, {**CHECKING, "name": "plaid"}, 2),
        ({**CHECKING, "name": "Compte ch\u00e8ques"}, {**CHECKING, "name": "Compte che\u0300ques"}, 1),
        ({**CHECKING, "name": "Plaid  Checking "}, CHECKING, 1), ({**CHECKING, "name": "PLAID CHECKING"}, CHECKING, 1),
    ):  # fmt: skip
        BankAccount.objects.all().delete()
        BankItem.objects.all().delete()
        for number, changes in enumerate((first, second), start=1):
            entry = account(number, item=f"item-{number}", **{"name": "Checking", **changes})
            plaid.offer(f"public-double-{number}", DoubleItem(f"item-{number}", [entry]))
            exchange(api, user, f"public-double-{number}")
        approve_accounts(api, user)
        assert BankAccount.objects.filter(user=user).count() == count, (first, second)
        assert bank_figures(user.pk, timezone.now(), "USD").balance_cents == 10_000 * count, (first, second)


def test_a_bank_balance_in_another_currency_is_excluded(plaid, api, user):
    for currency in ("JPY", "EUR", "usd ", None):
        BankAccount.objects.all().delete()
        BankItem.objects.all().delete()
        balances = {"available": None, "current": 1_000_000, "limit": None, "iso_currency_code": currency}
        plaid.offer("public-double-1", DoubleItem("item-1", [account(1, balances=balances)]))
        exchange(api, user, "public-double-1")
        approve_accounts(api, user)
        assert bank_figures(user.pk, timezone.now(), "USD").balance_cents is None


LINK_TOKEN = "/bankdata/link-token"


def test_link_token_request_returns_the_link_token_of_the_vendor(judged_plaid, api, user, settings):
    settings.OPEN_BANKING = "sandbox"
    shown = api.send(LINK_TOKEN, {"user_id": str(user.pk)}).json()
    assert set(shown) == {"link_token", "expiration"}
    assert shown["link_token"].startswith("link-sandbox-")
    settings.OPEN_BANKING = "plaid"
    shown = api.send(LINK_TOKEN, {"user_id": str(user.pk)}).json()
    assert shown["link_token"].startswith("link-double-")
    assert shown["expiration"] == EXPIRATION.replace("Z", ".000000Z")
    (request,) = judged_plaid.requests_at("/link/token/create")
    assert request["user"] == {"client_user_id": str(user.pk)}
    assert request["products"] == ["transactions"]
