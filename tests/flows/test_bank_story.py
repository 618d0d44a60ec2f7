"""Test over HTTP that a person can link a bank, read its data, and approve the data for permanent storage."""

import pytest

from identity.models import BankAccount, BankItem
from staging.models import StagedItem
from tests.identity.banking import events_of
from tests.identity.conftest import judge, judged_plaid, plaid  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db


def approve_linked_accounts(api, user, public_token):
    """Link, read, and approve; return the accounts as shown before the approval."""
    me = str(user.pk)
    link = api.send("/bankdata/link-token", {"user_id": me})
    assert link.status_code == 200
    linked = api.send("/bankdata/exchange", {"user_id": me, "public_token": public_token}).json()
    assert linked["linked"] is True
    accounts = api.read(f"/bankdata/accounts/{me}").json()
    assert accounts["item_ids"] == [linked["item_id"]]
    assert BankAccount.objects.count() == 0

    staged = api.read("/staging/items?kind=bank_account&status=staged").json()
    assert [item["id"] for item in staged["items"][::-1]] == linked["staged_item_ids"][: accounts["total"]]
    bookings = api.read("/staging/items?kind=bank_transaction&status=staged").json()["total"]
    assert len(linked["staged_item_ids"]) == accounts["total"] + bookings
    approved = api.send("/staging/approve-all", {"user_id": me}, key=True).json()
    assert approved["approved"] == accounts["total"] + bookings
    assert sorted(approved["item_ids"]) == sorted(linked["staged_item_ids"])

    rows = {row.account_id: row for row in BankAccount.objects.filter(user=user)}
    for shown in accounts["accounts"]:
        row = rows[shown["account_id"]]
        stored = {name: value for name, value in shown.items() if name not in {"exponent", "institution_name"}}
        assert {name: getattr(row, name) for name in stored} == stored
        assert row.from_provider
    assert not StagedItem.objects.filter(status="staged").exists()
    item = BankItem.objects.get()
    assert item.item_id == linked["item_id"]
    assert {shown["institution_name"] for shown in accounts["accounts"]} == {item.institution_name}
    assert [kind for kind, _ in events_of(user, "bankdata.")] == ["bankdata.item.linked"]
    return accounts["accounts"]


def test_sandbox_bank_can_be_linked_and_its_staged_data_approved(api, user):
    assert len(approve_linked_accounts(api, user, "public-sandbox-story")) == 3
    bookings = api.read(f"/bankdata/transactions/{user.pk}?limit=3").json()
    payload = {name: value for name, value in bookings["transactions"][0].items() if value is not None}
    staged = api.send("/staging/items", {"kind": "bank_transaction", "payload": payload, "source": "my export"})
    assert staged.status_code == 201
    approved = api.send(f"/staging/approve/{staged.json()['id']}", {"user_id": str(user.pk)}, key=True)
    assert approved.status_code == 200
    (claimed,) = user.bank_transactions.claimed()
    assert claimed.amount_cents == payload["amount_cents"]
    assert user.bank_transactions.reported_by_provider().exists()
