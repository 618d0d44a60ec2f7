"""Test income, spending, and balances of an applicant's accounts as facts for scoring."""

from datetime import date, timedelta
from itertools import count

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from identity.bank.figures import BankFigures, Booking, without_transfers
from identity.bank.models import BankAccount, BankItem, BankTransaction
from tests.properties import examples

NOW = timezone.now()
SINCE, UNTIL = date(2026, 3, 5), date(2026, 6, 3)  # 90 days, in which April and May are complete months
FIGURES = (
    "income_monthly_cents", "spending_monthly_cents", "months_covered", "lowest_balance_cents", "overdrawn_days",
    "as_of_text",
)  # fmt: skip
_numbers = count()


def account(user, account_id="a", *, item="item", **columns):
    known = {"current_cents": 100_000, "currency": "USD", "type": "depository", "balance_on": UNTIL, **columns}
    return BankAccount.objects.create(
        user=user, account_id=account_id, item_id=item, name="Checking", from_provider=True, created_at=NOW,
        updated_at=NOW + timedelta(seconds=next(_numbers)), **known,
    )  # fmt: skip


def bank(user, item="item", **columns):
    """Link a bank whose transactions since SINCE are staged."""
    staged = {"transactions_since": SINCE, "transactions_staged": 0, **columns}
    return BankItem.objects.create(
        user=user, provider="sandbox", item_id=item, access_token="x", token_fingerprint=item, linked_at=NOW,
        updated_at=NOW, **staged,
    )  # fmt: skip


def booking(user, cents, day, account_id="a", *, item="item", **columns):
    """Stage and approve a transaction reported by the bank; positive cents left the account."""
    known = {"currency": "USD", "from_provider": True, **columns}
    BankTransaction.objects.create(
        user=user, transaction_id=str(next(_numbers)), account_id=account_id, item_id=item, amount_cents=cents,
        date=day, name="x", created_at=NOW, updated_at=NOW, **known,
    )  # fmt: skip


def figures(user):
    return BankFigures(user.pk, currency="USD")


def values(user):
    read = figures(user)
    return {name: getattr(read, name) for name in FIGURES}


@pytest.fixture
def linked(user):
    bank(user)
    account(user)
    return user


class TestFlows:
    def test_bank_figures_use_only_complete_months(self, linked, django_assert_num_queries):
        for cents, day in (
            (-100_000, date(2026, 4, 1)), (-200_001, date(2026, 5, 31)), (30_000, date(2026, 4, 30)),
            (-999_999, date(2026, 3, 31)), (555_555, date(2026, 6, 1)),
        ):  # fmt: skip
            booking(linked, cents, day)
        with django_assert_num_queries(2):
            values(linked)
        read = figures(linked)
        assert (read.income_monthly_cents, read.spending_monthly_cents) == (150_000, 15_000)
        assert (read.months_covered, read.as_of) == (2, date(2026, 6, 2))

    def test_bank_figures_are_missing_without_a_complete_month(self, user):
        bank(user)
        account(user)
        bank(user, "other", transactions_since=date(2026, 4, 2))
        account(user, "b", item="other")
        bank(user, "third", transactions_since=date(2026, 2, 27))
        account(user, "c", item="third")
        read = figures(user)  # The three items share 2 April to 27 May.
        assert (read.months_covered, read.income_monthly_cents, read.gap) == (None, None, "")
        assert read.as_of == date(2026, 5, 27)

    def test_bank_figures_exclude_credit_cards_claimed_transactions_and_other_users(self, linked, stranger):
        booking(linked, -100_000, date(2026, 4, 1))
        account(linked, "card", type="credit")
        booking(linked, 70_000, date(2026, 4, 2), "card")
        booking(linked, -70_000, date(2026, 4, 2), from_provider=False)
        booking(stranger, -70_000, date(2026, 4, 2))
        read = figures(linked)
        assert (read.income_monthly_cents, read.spending_monthly_cents) == (50_000, 0)

    def test_credit_card_payment_counts_as_spending_in_bank_figures(self, linked):
        account(linked, "card", type="credit")
        booking(linked, 70_000, date(2026, 4, 1))
        booking(linked, -70_000, date(2026, 4, 1), "card")
        assert figures(linked).spending_monthly_cents == 35_000

    def test_bank_figures_exclude_a_transfer_between_own_accounts_within_three_days(self, linked):
        account(linked, "b")
        for account_id, paid_on, received_on, is_excluded in (
            ("b", date(2026, 4, 15), date(2026, 4, 11), False), ("b", date(2026, 4, 15), date(2026, 4, 12), True),
            ("b", date(2026, 4, 15), date(2026, 4, 15), True), ("b", date(2026, 4, 15), date(2026, 4, 18), True),
            ("b", date(2026, 4, 15), date(2026, 4, 19), False), ("b", date(2026, 5, 31), date(2026, 6, 1), True),
            ("a", date(2026, 4, 15), date(2026, 4, 15), False),  # This is a refund to the same account.
        ):  # fmt: skip
            BankTransaction.objects.all().delete()
            booking(linked, 40_000, paid_on)
            booking(linked, -40_000, received_on, account_id)
            read, cents = figures(linked), 0 if is_excluded else 20_000
            assert (read.income_monthly_cents, read.spending_monthly_cents) == (cents, cents), received_on


class TestMissingFigures:
    def everything_is_missing(self, user):
        return set(values(user).values()) == {None}

    def test_bank_figures_are_missing_without_an_account(self, user):
        bank(user)
        assert self.everything_is_missing(user)
        assert figures(user).balance_cents is None

    def test_bank_figures_are_missing_for_an_account_in_another_currency_or_of_an_unknown_item(self, linked):
        account(linked, "b", item=None)
        assert self.everything_is_missing(linked)
        for currency in ("EUR", None):
            BankAccount.objects.filter(account_id="b").delete()
            account(linked, "b", currency=currency)
            assert self.everything_is_missing(linked)
            assert figures(linked).balance_cents is None

    def test_bank_figures_are_missing_for_a_transaction_in_another_currency(self, linked):
        for currency in ("EUR", None):
            BankTransaction.objects.all().delete()
            booking(linked, -100, date(2026, 4, 1), currency=currency)
            assert self.everything_is_missing(linked)

    def test_bank_figures_are_missing_if_a_bank_item_has_no_staged_transactions(self, linked):
        booking(linked, -100, date(2026, 4, 1))
        assert not self.everything_is_missing(linked)
        bank(linked, "other")
        account(linked, "b", item="other")
        for columns in (
            {"transactions_since": None}, {"transactions_staged": 2}, {"unlinked_at": NOW},
            {"transactions_since": SINCE - timedelta(days=90)},
        ):  # fmt: skip
            known = {"transactions_since": SINCE, "transactions_staged": 0, "unlinked_at": None}
            BankItem.objects.filter(item_id="other").update(**{**known, **columns})
            assert self.everything_is_missing(linked), columns

    def test_bank_figures_are_missing_if_all_transactions_precede_the_staged_period(self, user):
        bank(user, transactions_staged=1)
        account(user)
        booking(user, -100, SINCE - timedelta(days=1))
        assert self.everything_is_missing(user)
        booking(user, -100, SINCE)
        assert figures(user).months_covered == 2

    def test_bank_figures_of_a_removed_bank_item_end_on_its_last_complete_day(self, user):
        bank(user, gone_at=NOW)
        account(user)
        assert figures(user).as_of == UNTIL - timedelta(days=1)


class TestDuplicateAccount:
    same = {"institution_id": "ins_1", "mask": "1234"}

    def test_bank_account_linked_twice_counts_once_in_bank_figures(self, user):
        for item, account_id in (("item", "a"), ("again", "b")):
            bank(user, item)
            account(user, account_id, item=item, **self.same)
            booking(user, -100_000, date(2026, 4, 1), account_id, item=item)
            booking(user, 60_000, date(2026, 4, 3), account_id, item=item)
        read = figures(user)
        assert (read.income_monthly_cents, read.spending_monthly_cents) == (50_000, 30_000)
        assert read.balance_cents == 100_000
        BankItem.objects.filter(item_id="item").update(transactions_since=SINCE - timedelta(days=200))
        assert figures(user).months_covered == 2, "the older item does not narrow the period"


class TestBalances:
    def test_past_bank_balances_are_computed_backwards_from_the_current_balance(self, linked):
        booking(linked, 30_000, UNTIL - timedelta(days=1))
        booking(linked, -150_000, UNTIL - timedelta(days=3))
        # The balance is 130,000 before the last day, and -20,000 before the third-to-last day.
        read = figures(linked)
        assert read.lowest_balance_cents == -20_000
        assert read.overdrawn_days == 87

    def test_older_bank_balance_is_updated_by_later_transactions(self, user):
        bank(user)
        account(user, balance_on=UNTIL - timedelta(days=2))
        booking(user, 130_000, UNTIL - timedelta(days=1))
        read = figures(user)
        assert (read.lowest_balance_cents, read.overdrawn_days) == (-30_000, 1)

    def test_balance_figures_are_missing_without_a_balance_of_a_day_in_the_period(self, linked):
        for columns in (
            {"balance_on": None}, {"balance_on": UNTIL, "current_cents": None},
            {"balance_on": UNTIL + timedelta(days=1)}, {"balance_on": SINCE - timedelta(days=1)},
        ):  # fmt: skip
            BankAccount.objects.update(**{"current_cents": 100_000, **columns})
            read = figures(linked)
            assert (read.lowest_balance_cents, read.overdrawn_days, read.months_covered) == (None, None, 2), columns

    def test_account_with_a_negative_balance_is_overdrawn_despite_a_positive_total_balance(self, linked):
        account(linked, "b", current_cents=-1)
        read = figures(linked)
        assert (read.lowest_balance_cents, read.overdrawn_days) == (99_999, 90)

    def test_balance_figures_are_missing_if_the_bank_items_share_fewer_than_90_days(self, linked):
        bank(linked, "other", transactions_since=SINCE - timedelta(days=1))
        account(linked, "b", item="other")
        read = figures(linked)
        assert (read.lowest_balance_cents, read.overdrawn_days, read.months_covered) == (None, None, 2)


def test_bank_figures_of_the_sandbox_match_its_transactions(api, user):
    body = {"user_id": str(user.pk), "public_token": "public-sandbox-overdrawn-1"}
    assert api.send("/bankdata/exchange", body).status_code == 200
    api.send("/staging/approve-all", {"user_id": str(user.pk)})
    read = figures(user)
    assert read.gap == ""
    assert read.months_covered in {2, 3}
    own = {each.account_id for each in read.accounts}
    rows = BankTransaction.objects.filter(account_id__in=own, date__gte=read.months[0], date__lt=read.months[-1])
    paid_in = -sum(row.amount_cents for row in rows if row.amount_cents < 0)
    assert read.income_monthly_cents == paid_in // read.months_covered
    assert read.lowest_balance_cents < 0
    assert 0 < read.overdrawn_days <= 90
    balances = {each.balance_on for each in read.accounts}
    assert balances == {timezone.now().date()}


BOOKINGS = st.lists(
    st.builds(
        Booking,
        st.just("item"),
        st.sampled_from("abc"),
        st.integers(0, 9).map(lambda days: SINCE + timedelta(days=days)),
        st.sampled_from([-2, -1, 1, 2]),
        st.just("USD"),
    ),
    max_size=12,
).map(lambda rows: sorted(rows, key=lambda row: row.day))


@given(bookings=BOOKINGS)
@examples(500)
def test_transfer_exclusion_removes_only_complete_internal_transfers(bookings):
    left = without_transfers(bookings)
    assert sum(row.cents for row in left) == sum(row.cents for row in bookings)
    remaining = list(left)
    for row in bookings:
        if row in remaining:
            remaining.remove(row)
    assert not remaining  # The exclusion adds no transaction.
    for paid in left:
        for received in left:
            is_pair = paid.cents > 0 and paid.cents == -received.cents and paid.account_id != received.account_id
            assert not (is_pair and abs((paid.day - received.day).days) <= 3)
