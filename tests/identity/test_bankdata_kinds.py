"""Test that approved bank payloads become permanent rows, marked as claimed by the client or reported by the bank."""

from contextlib import nullcontext

import pytest
from django.db import connection
from django.utils import timezone

from config.core.lifecycle import Actor
from identity.bank.services import mark_payload, store_accounts
from identity.models import BankAccount, BankTransaction
from tests.api import assert_error
from tests.backoffice.conftest import backoffice_client
from tests.factories import UserFactory
from tests.identity.test_bankdata_exchange import exchange

pytestmark = pytest.mark.django_db
ACCOUNT = {"account_id": "a-1", "name": "Checking", "type": "depository", "current_cents": 12_345, "currency": "USD"}
BOOKING = {"transaction_id": "t-1", "account_id": "a-1", "amount_cents": -5, "date": "2026-02-28", "name": "Shop"}


def stage(api, kind, payload):
    return api.send("/staging/items", {"kind": kind, "payload": payload})


def approve_all(api, user):
    response = api.send("/staging/approve-all", {"user_id": str(user.pk)})
    assert response.status_code == 200, response.content
    return response.json()


def test_bank_data_staged_by_a_client_is_marked_as_claimed(api, user):
    assert stage(api, "bank_account", ACCOUNT).status_code == 201
    assert stage(api, "bank_transaction", {**BOOKING, "pending": True, "category": None}).status_code == 201
    assert approve_all(api, user)["approved"] == 2
    account, booking = BankAccount.objects.get(), BankTransaction.objects.get()
    assert (account.user, account.current_cents, account.available_cents, account.from_provider) == (
        user, 12_345, None, False,
    )  # fmt: skip
    assert (booking.amount_cents, booking.date.isoformat(), booking.pending, booking.from_provider) == (
        -5, "2026-02-28", True, False,
    )  # fmt: skip


def test_sealed_bank_payload_staged_by_a_client_is_marked_as_claimed(api, user):
    exchange(api, user)
    sealed = [item["payload"] for item in api.read("/staging/items?kind=bank_account").json()["items"]]
    assert all(payload["seal"] for payload in sealed)
    approve_all(api, user)
    assert set(BankAccount.objects.values_list("from_provider", flat=True)) == {True}
    for payload in sealed:
        assert "seal" not in stage(api, "bank_account", payload).json()["payload"]
    approve_all(api, user)
    assert set(BankAccount.objects.values_list("from_provider", flat=True)) == {False}


def test_seal_of_a_bank_payload_is_valid_only_for_its_payload_and_user(user, stranger):
    own, of_other = mark_payload(ACCOUNT, user.pk), mark_payload(ACCOUNT, stranger.pk)
    for payload, is_valid in (
        (own, True), ({**own, "current_cents": 1}, False), (of_other, False), ({**own, "seal": "f" * 64}, False),
    ):  # fmt: skip
        store_accounts([payload], actor=Actor(user=user, credential="test"), now=timezone.now())
        assert BankAccount.objects.get().from_provider is is_valid, payload


@pytest.mark.parametrize("at_once", [True, False])
def test_newest_payload_replaces_the_stored_bank_account(api, user, at_once):
    for cents in (1, 2):
        stage(api, "bank_account", {**ACCOUNT, "current_cents": cents})
        if not at_once:
            approve_all(api, user)
    approve_all(api, user)
    row = BankAccount.objects.get()
    assert row.current_cents == 2
    assert at_once or row.updated_at > row.created_at


def test_bank_account_of_two_users_is_stored_as_two_rows(api, user, stranger, stranger_api):
    for client, person in ((api, user), (stranger_api, stranger)):
        stage(client, "bank_account", ACCOUNT)
        approve_all(client, person)
    assert BankAccount.objects.count() == 2


def test_invalid_bank_payload_is_rejected(api):
    for kind, member, value in (
        ("bank_account", "account_id", None), ("bank_account", "name", ""), ("bank_account", "current_cents", 1.5),
        ("bank_account", "current_cents", "1"), ("bank_account", "available_cents", True),
        ("bank_account", "mask", "0" * 17), ("bank_transaction", "amount_cents", None),
        *(("bank_transaction", "date", date) for date in (
            "2026-02-30", "", "20260228", "2026-W09-6", "٢٠٢٦-02-28",
        )),
        ("bank_transaction", "pending", 1),
    ):  # fmt: skip
        payload = {**(ACCOUNT if kind == "bank_account" else BOOKING), member: value}
        assert_error(stage(api, kind, payload), 400, "E1001")


def test_storing_1000_bank_accounts_executes_two_sql_statements_and_returns_ids_in_order(
    user, django_assert_num_queries
):
    for accounts in (1000, 600):  # In the second run, 400 accounts occur twice.
        payloads = [{**ACCOUNT, "account_id": f"a-{number % accounts}"} for number in range(1000)]
        with django_assert_num_queries(2) if connection.vendor == "postgresql" else nullcontext():
            identifiers = store_accounts(payloads, actor=Actor(user=user, credential="test"), now=timezone.now())
        rows = {row.pk: row.account_id for row in BankAccount.objects.all()}
        assert [rows[identifier] for identifier in identifiers] == [payload["account_id"] for payload in payloads]


def test_back_office_displays_bank_amounts_with_the_decimal_places_of_the_currency(api, user):
    stage(api, "bank_account", {**ACCOUNT, "current_cents": -1_234_567, "limit_cents": 5})
    stage(api, "bank_transaction", BOOKING)
    approve_all(api, user)
    backoffice = backoffice_client(UserFactory(is_staff=True, is_superuser=True))
    row, booking = BankAccount.objects.get(), BankTransaction.objects.get()
    assert "-12,345.67 USD" in backoffice.get("/admin/identity/bankaccount/").content.decode()
    assert "0.05 USD" in backoffice.get(f"/admin/identity/bankaccount/{row.pk}/change/").content.decode()
    assert "-0.05" in backoffice.get("/admin/identity/banktransaction/?q=t-1").content.decode()
    assert backoffice.get(f"/admin/identity/banktransaction/{booking.pk}/change/").status_code == 200
    BankAccount.objects.update(current_cents=1_234_567, currency="JPY")
    assert "1,234,567 JPY" in backoffice.get("/admin/identity/bankaccount/").content.decode()
