"""Test the statements, balances, and required log-ins of the sandbox bank."""

from datetime import date, timedelta
from itertools import pairwise, product

from identity.bank.models import BankItem
from identity.providers.sandbox_bank import (
    CYCLE_DAYS,
    HISTORY_DAYS,
    OVERDRAFT_FEE_CENTS,
    accounts_of,
    item_id_of,
    transactions_of,
)
from tests.api import assert_error
from tests.identity.test_bankdata_exchange import exchange

DAYS = [date(2026, 6, 30), date(2026, 3, 1), date(2027, 1, 1), date(2028, 2, 29), date(2025, 12, 31)]
TEXTS = ["hello", "gig-anna", "overdrawn-omar", "login-required-gig"]


def item(text):
    return item_id_of(f"public-sandbox-{text}", text)


def of_category(bookings, *names):
    return [booking for booking in bookings if booking["category"] in names]


def monthly(bookings, *names):
    """Return the average cents per month of some categories."""
    return sum(entry["amount_cents"] for entry in of_category(bookings, *names)) * 30 // HISTORY_DAYS


def test_sandbox_bank_transaction_appears_once_and_todays_transactions_are_pending():
    for text, today in product(TEXTS, DAYS):
        transactions = transactions_of(item(text), today)
        days = {date.fromisoformat(entry["date"]) for entry in transactions}
        assert max(days) <= today
        assert today - timedelta(days=HISTORY_DAYS) < min(days) <= today - timedelta(days=110)
        assert len({transaction["transaction_id"] for transaction in transactions}) == len(transactions) > 90
        assert [row["pending"] for row in transactions] == [row["date"] == str(today) for row in transactions]


def test_sandbox_bank_transactions_of_a_day_are_the_same_at_every_read():
    def settled(text, today, read_on):
        first, last = (str(today - timedelta(days=days)) for days in (100, 1))
        return [entry for entry in transactions_of(item(text), read_on) if first <= entry["date"] <= last]

    for text, today in product(TEXTS, DAYS):
        assert settled(text, today, today) == settled(text, today, today + timedelta(days=9))


def test_sandbox_bank_balances_change_by_the_amounts_of_the_transactions():
    for text, today in product(TEXTS, DAYS):
        days = [today + timedelta(days=number) for number in range(41)]
        bookings = transactions_of(item(text), days[-1])
        for day, (earlier, later) in zip(days, pairwise(accounts_of(item(text), day) for day in days), strict=False):
            for before, after in zip(earlier, later, strict=True):
                booked = [booking for booking in bookings if booking["date"] == str(day)]
                out = sum(entry["amount_cents"] for entry in booked if entry["account_id"] == before["account_id"])
                owed = 1 if before["type"] == "credit" else -1
                assert after["current_cents"] - before["current_cents"] == owed * out


def test_sandbox_salary_is_paid_every_two_weeks_and_covers_spending():
    bookings = transactions_of(item("hello"), DAYS[0])
    pay = sorted(of_category(bookings, "income"), key=lambda entry: entry["date"])
    assert len({entry["amount_cents"] for entry in pay}) == 1
    days = [date.fromisoformat(entry["date"]) for entry in pay]
    assert {after - before for before, after in pairwise(days)} == {timedelta(days=CYCLE_DAYS)}
    assert len(days) >= 8
    assert -monthly(bookings, "income") > 1.2 * monthly(bookings, "rent_and_utilities", "food_and_drink")
    assert of_category(bookings, "bank_fees") == []


def test_sandbox_gig_income_is_frequent_and_varies():
    pay = of_category(transactions_of(item("gig"), DAYS[0]), "income")
    assert len(pay) > 30
    assert len({entry["amount_cents"] for entry in pay}) > 25
    assert len({entry["merchant_name"] for entry in pay}) == 2


def test_overdrawn_sandbox_account_pays_a_fee():
    bookings = transactions_of(item("overdrawn"), DAYS[0])
    fees = of_category(bookings, "bank_fees")
    assert len(fees) > 4
    assert {fee["amount_cents"] for fee in fees} == {OVERDRAFT_FEE_CENTS}
    below = [accounts_of(item("overdrawn"), DAYS[0] - timedelta(days=days))[0] for days in range(28)]
    assert sum(entry["current_cents"] < 0 for entry in below) > 5
    assert min(entry["available_cents"] for entry in below) == 0


def test_every_sandbox_account_pays_rent_and_groceries():
    for text in TEXTS:
        bookings = transactions_of(item(text), DAYS[0])
        assert [booking["date"][-2:] for booking in bookings if "Rent" in booking["merchant_name"]] == ["01"] * 3
        assert len([booking for booking in bookings if booking["merchant_name"] == "Corner Grocery"]) > 15


def require(client, item_id):
    return client.call("POST", f"/sandbox/bank-items/{item_id}/require-login")


def test_sandbox_bank_item_requires_a_log_in_at_the_next_read(api, user, stranger, stranger_api):
    exchange(stranger_api, stranger, "public-sandbox-theirs")
    item_id = exchange(api, user).json()["item_id"]
    for read in ("accounts", "transactions"):
        answer = require(api, item_id)
        assert (answer.status_code, answer.json()) == (200, {"item_id": item_id, "login_required": True})
        assert stranger_api.read(f"/bankdata/{read}/{stranger.pk}").status_code == 200
        refused = assert_error(api.read(f"/bankdata/{read}/{user.pk}"), 502, "E5004")
        assert refused["details"]["item_id"] == item_id
        assert refused["details"]["mode"] == "update"
        assert BankItem.objects.get(item_id=item_id).needs_login
        assert api.read(f"/bankdata/{read}/{user.pk}").status_code == 200
        assert not BankItem.objects.get(item_id=item_id).needs_login


def test_sandbox_request_that_requires_a_log_in_for_a_real_vendors_item_returns_404(api, user, settings):
    item_id = exchange(api, user).json()["item_id"]
    settings.OPEN_BANKING = "plaid"
    assert_error(require(api, item_id), 404, "E4008")
