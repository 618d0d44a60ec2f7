"""Compute monthly income, monthly spending, and end-of-day balances from an account's bank data.

The figures use transactions that a bank reported and the account's owner approved. They exclude debt accounts. A bank
account that is linked twice is included once. A figure is None if a transaction of its period is missing or has another
currency.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery

from identity.bank.models import BOOKINGS_DAYS, BankAccount, BankItem, BankTransaction, linked_again

MONTHS_MAX = 12
TRANSFER_DAYS = 3
_DAY = timedelta(days=1)


class Booking(NamedTuple):
    """A bank transaction. `cents` is positive for outgoing money."""

    item_id: str
    account_id: str
    day: date
    cents: int
    currency: str | None


class BankFigures:
    """The figures of an account's linked banks. Each figure is computed at its first use.

    The balances require one database statement. All other figures together require another statement.
    """

    def __init__(self, user_id: int, *, currency: str) -> None:
        self.user_id, self.currency = user_id, currency

    @cached_property
    def accounts(self) -> list[Any]:
        """The owned bank accounts without duplicates.

        Each row has `since` and `staged`, the `transactions_since` and `transactions_staged` of its item.
        """
        item = BankItem.objects.linked().filter(user=OuterRef("user"), item_id=OuterRef("item_id")).order_by("-id")
        rows = (
            BankAccount.objects.reported_by_provider()
            .owned()
            .filter(user=self.user_id)
            .annotate(
                since=Subquery(item.values("transactions_since")[:1]),
                staged=Subquery(item.values("transactions_staged")[:1]),
            )
            .order_by("-updated_at", "-id")
        )
        accounts = list(rows)
        again = linked_again(accounts)
        return [account for account in accounts if account.pk not in again]

    @property
    def has_foreign_accounts(self) -> bool:
        return any(account.currency != self.currency for account in self.accounts)

    @property
    def balance_cents(self) -> int | None:
        """The sum of the balances. None if there is no account, or if a balance is unknown or in another currency."""
        balances = [account.current_cents for account in self.accounts]
        return None if not balances or None in balances or self.has_foreign_accounts else sum(balances)

    @property
    def balance_on(self) -> date | None:
        """The date of the oldest balance, or None if a date is unknown."""
        days = [account.balance_on for account in self.accounts]
        return None if not days or None in days else min(days)

    @cached_property
    def _reported(self) -> list[Booking]:
        """All transactions of the items, including debt accounts."""
        since = {account.item_id: account.since for account in self.accounts}
        rows = BankTransaction.objects.reported_by_provider().filter(
            user=self.user_id, item_id__in=since, date__gte=min(since.values())
        )
        return [
            Booking(*row)
            for row in rows.order_by("date", "transaction_id").values_list(
                "item_id", "account_id", "date", "amount_cents", "currency"
            )
        ]

    @cached_property
    def gap(self) -> str:
        """The reason why required transactions are missing. Empty if none is missing."""
        if not self.accounts:
            return "no account is linked and approved"
        if self.has_foreign_accounts:
            return "in another currency"
        if any(account.since is None for account in self.accounts):
            return "the bank has not reported its transactions"
        approved: dict[str, int] = defaultdict(int)
        since = {account.item_id: account.since for account in self.accounts}
        for booking in self._reported:
            approved[booking.item_id] += booking.day >= since[booking.item_id]
        if any(account.staged > approved[account.item_id] for account in self.accounts):
            return "the person has not approved all transactions"
        if any(booking.currency != self.currency for booking in self._bookings):
            return "in another currency"
        return "" if self._since < self._until else "the banks reported different days"

    @cached_property
    def _bookings(self) -> list[Booking]:
        """The transactions of the accounts in the period that all banks have reported."""
        own = {account.account_id for account in self.accounts}
        return [
            booking
            for booking in self._reported
            if booking.account_id in own and self._since <= booking.day < self._until
        ]

    @property
    def _since(self) -> date:
        since: date = max(account.since for account in self.accounts)
        return since

    @property
    def _until(self) -> date:
        """The day after the last day that all banks have reported completely."""
        until: date = min(account.since for account in self.accounts) + timedelta(days=BOOKINGS_DAYS)
        return until

    @property
    def as_of(self) -> date | None:
        """The last day with complete transactions, or None if transactions are missing."""
        return None if self.gap else self._until - _DAY

    @property
    def as_of_text(self) -> str | None:
        return None if self.as_of is None else self.as_of.isoformat()

    @cached_property
    def months(self) -> list[date]:
        """The first days of the latest complete months, and the day after them. Empty if transactions are missing."""
        if self.gap:
            return []
        begins = self._until.replace(day=1)
        starts = [begins]
        while len(starts) <= MONTHS_MAX and (begins := (begins - _DAY).replace(day=1)) >= self._since:
            starts.append(begins)
        return starts[::-1] if len(starts) > 1 else []

    @property
    def months_covered(self) -> int | None:
        return len(self.months) - 1 if self.months else None

    @cached_property
    def _flows(self) -> tuple[int, int] | None:
        """Return the total income and spending in the complete months, in cents."""
        if not self.months:
            return None
        within = [
            booking.cents
            for booking in without_transfers(self._bookings)
            if self.months[0] <= booking.day < self.months[-1]
        ]
        return -sum(cents for cents in within if cents < 0), sum(cents for cents in within if cents > 0)

    @property
    def income_monthly_cents(self) -> int | None:
        """The average income per month, rounded down to a cent."""
        return None if self._flows is None else self._flows[0] // (len(self.months) - 1)

    @property
    def spending_monthly_cents(self) -> int | None:
        """The average spending per month, rounded down to a cent."""
        return None if self._flows is None else self._flows[1] // (len(self.months) - 1)

    @cached_property
    def _end_of_day_balances(self) -> list[tuple[int, ...]] | None:
        """The end-of-day balances of each account for the last BOOKINGS_DAYS days. None if a balance is unknown."""
        if self.gap or self._until - self._since < timedelta(days=BOOKINGS_DAYS):
            return None
        balances = []
        for account in self.accounts:
            # A balance excludes the transactions of its day, so it is the end-of-day balance of the previous day.
            days = None if account.balance_on is None else (account.balance_on - self._since).days
            if account.current_cents is None or days is None or not 0 <= days <= BOOKINGS_DAYS:
                return None
            of_days = [0] * BOOKINGS_DAYS
            for booking in self._bookings:
                if booking.account_id == account.account_id:
                    of_days[(booking.day - self._since).days] += booking.cents
            spent = list(accumulate(of_days, initial=0))
            balances.append([account.current_cents + spent[days] - out for out in spent[1:]])
        return list(zip(*balances, strict=True))

    @property
    def lowest_balance_cents(self) -> int | None:
        """The lowest sum of the accounts' end-of-day balances."""
        balances = self._end_of_day_balances
        return None if balances is None else min(map(sum, balances))

    @property
    def overdrawn_days(self) -> int | None:
        """The number of days on which at least one account had a negative end-of-day balance."""
        balances = self._end_of_day_balances
        return None if balances is None else sum(min(of_day) < 0 for of_day in balances)


def without_transfers(bookings: Sequence[Booking]) -> list[Booking]:
    """Remove transfers between the accounts.

    A transfer leaves an account and arrives in another account, with the same amount, within TRANSFER_DAYS days. Each
    transaction belongs to at most one transfer. `bookings` is sorted by day.
    """
    waiting: dict[int, dict[str, deque[int]]] = defaultdict(lambda: defaultdict(deque))
    for at, booking in enumerate(bookings):
        if booking.cents < 0:
            waiting[-booking.cents][booking.account_id].append(at)
    paired: set[int] = set()
    for at, booking in enumerate(bookings):
        if booking.cents <= 0:
            continue
        candidates = []
        for account_id, received in waiting.get(booking.cents, {}).items():
            while received and (booking.day - bookings[received[0]].day).days > TRANSFER_DAYS:
                received.popleft()
            is_near = received and (bookings[received[0]].day - booking.day).days <= TRANSFER_DAYS
            if is_near and account_id != booking.account_id:
                candidates.append(received)
        if candidates:
            paired |= {at, min(candidates, key=lambda received: received[0]).popleft()}
    return [booking for at, booking in enumerate(bookings) if at not in paired]
