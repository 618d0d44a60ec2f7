"""Test that GET /v1/bankdata/transactions/{user_id} returns the transactions of all linked items, newest first."""

import pytest

from tests.api import assert_error
from tests.identity.plaid_double import DoubleItem, Fault, account, booking
from tests.identity.test_bankdata_exchange import exchange

pytestmark = pytest.mark.django_db
MEMBERS = {
    "transaction_id", "account_id", "item_id", "amount_cents", "currency", "date", "name", "merchant_name", "category",
    "pending", "exponent",
}  # fmt: skip


def read(api, user, query=""):
    return api.read(f"/bankdata/transactions/{getattr(user, 'pk', user)}{query}")


def test_pages_of_bank_transactions_are_newest_first_without_gap_or_overlap(api, user):
    item_ids = {exchange(api, user, f"public-sandbox-{number}").json()["item_id"] for number in range(2)}
    first = read(api, user).json()
    assert set(first) == {"transactions", "items", "total", "has_more"}
    total = first["total"]
    assert (total > 180, first["has_more"], len(first["transactions"])) == (True, True, 20)
    whole = [
        transaction for offset in range(0, total, 100) for transaction in page(api, user, 100, offset)["transactions"]
    ]
    assert len({transaction["transaction_id"] for transaction in whole}) == len(whole) == total
    days = [transaction["date"] for transaction in whole]
    assert days == sorted(days, reverse=True)
    for transaction in whole:
        assert set(transaction) == MEMBERS
        assert type(transaction["amount_cents"]) is int
    assert {transaction["item_id"] for transaction in whole} == item_ids
    pages = [page(api, user, 70, offset) for offset in range(0, total + 70, 70)]
    assert [transaction for shown in pages for transaction in shown["transactions"]] == whole
    assert [shown["has_more"] for shown in pages] == [70 * number < total for number in range(1, len(pages) + 1)]


def page(api, user, limit, offset):
    return read(api, user, f"?limit={limit}&offset={offset}").json()


def test_bank_transactions_from_plaid_are_returned(judged_plaid, api, user):
    feed = [
        ("added", booking(1, amount=0.29, day="2026-02-01", merchant_name="Shop")),
        ("added", booking(2, amount=-1200, day="2026-03-01", pending=True)),
        ("added", booking(3, day="2026-03-01", personal_finance_category=None)),
    ]
    judged_plaid.offer("public-double-1", DoubleItem("item-1", [account(1)], feed))
    exchange(api, user, "public-double-1")
    shown = read(api, user).json()["transactions"]
    assert [
        (transaction["transaction_id"], transaction["amount_cents"], transaction["pending"], transaction["category"])
        for transaction in shown
    ] == [
        ("transaction-2", -120_000, True, "FOOD_AND_DRINK"),
        ("transaction-3", 1234, False, None),
        ("transaction-1", 29, False, "FOOD_AND_DRINK"),
    ]
    assert {item["item_id"] for item in shown} == {"item-1"}
    assert shown[2]["merchant_name"] == "Shop"


def test_bank_transactions_of_an_unknown_item_have_a_null_item_id(plaid, api, user):
    plaid.items["access-double-elsewhere"] = DoubleItem("item-9", [account(1)], [("added", booking(1))])
    (transaction,) = read(api, user, "?access_token=access-double-elsewhere").json()["transactions"]
    assert transaction["item_id"] is None


def test_each_bank_vendor_failure_returns_its_error_code(plaid, api, user):
    item = plaid.offer("public-double-1", DoubleItem("item-1", [account(1)], [("added", booking(1))]))
    exchange(api, user, "public-double-1")
    plaid.fail("/transactions/sync", Fault(500, b"x"))
    assert_error(read(api, user), 502, "E5003")
    plaid.fail("/transactions/sync", Fault(400, b'{"error_code": "PRODUCT_NOT_READY", "error_type": "ITEM_ERROR"}'))
    waiting = read(api, user)
    assert_error(waiting, 502, "E5003")
    assert waiting.headers["Retry-After"] == "60"
    item.error = "ITEM_LOGIN_REQUIRED"
    assert assert_error(read(api, user), 502, "E5004")["details"]["mode"] == "update"
