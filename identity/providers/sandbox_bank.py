"""The sandbox's bank: three personas, and the transactions of their accounts up to today.

All data depends only on the item's ID and the day, so past transactions never change, and the balances match the
transactions. An item has three accounts. The transactions of the checking account repeat every two weeks. A cycle
starts with a payday and ends with a transfer that restores the initial balance, so a balance depends only on the
current cycle. The credit card bill of a month is paid on the first day of the next month.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from operator import itemgetter

from config.core.digest import digest_of
from identity.providers.base import Account, Transaction

HISTORY_DAYS = 120  # the number of days, including today
CYCLE_DAYS = 14
CARD_LIMIT_CENTS = 500_000
OVERDRAFT_FEE_CENTS = 3_500

_A_PAYDAY = date(2024, 1, 5)  # a Friday, from which the paydays are counted
_ITEM_PREFIX = "item-sandbox-"
_MERCHANTS = (
    ("Paper Street Books", "general_merchandise"),
    ("Harbour Pharmacy", "medical"),
    ("Blue Door Diner", "food_and_drink"),
    ("Station Outfitters", "general_merchandise"),
)


@dataclass(frozen=True, slots=True)
class Persona:
    """A profile of a bank customer. Each item gets amounts from these ranges, in cents."""

    pay_cents: tuple[int, int] | None  # the salary every two weeks
    gig_cents: tuple[int, int] | None  # the pay per day of work, on 3 of 7 days
    rent_cents: tuple[int, int]
    rest_cents: tuple[int, int]  # the balance of the checking account before a payday
    savings_cents: tuple[int, int]
    # The counterparties that receive a surplus or cover a shortfall at the end of each cycle.
    surplus: tuple[str, str] = ("Nest Egg Invest", "transfer_out")
    shortfall: tuple[str, str] = ("Family Transfer", "transfer_in")


SALARY = "salary"
PERSONAS = {
    SALARY: Persona((180_000, 260_000), None, (110_000, 150_000), (60_000, 180_000), (300_000, 900_000)),
    "gig": Persona(None, (5_000, 28_000), (75_000, 95_000), (20_000, 70_000), (10_000, 120_000)),
    "overdrawn": Persona(
        (72_000, 88_000),
        None,
        (90_000, 105_000),
        (-90_000, -55_000),
        (0, 2_000),
        surplus=("QuickCash Advance", "loan_payments"),
        shortfall=("QuickCash Advance", "transfer_in"),
    ),
}


@dataclass(frozen=True, slots=True)
class Booking:
    """A line of a bank statement. `cents` is positive for outgoing money."""

    day: date
    merchant: str
    category: str
    cents: int


def item_id_of(public_token: str, text: str) -> str:
    """Return the ID of the item for a public token. A word in `text` selects the persona."""
    digest = digest_of(public_token)[:24]
    persona = next((word for word in text.split("-") if word in PERSONAS), SALARY)
    return f"{_ITEM_PREFIX}{digest}" if persona == SALARY else f"{_ITEM_PREFIX}{persona}-{digest}"


def persona_of(item_id: str) -> Persona:
    return PERSONAS.get(item_id.removeprefix(_ITEM_PREFIX).partition("-")[0], PERSONAS[SALARY])


def accounts_of(item_id: str, today: date) -> list[Account]:
    """Return the three accounts. Today's transactions are pending, and affect only the available balances."""
    cycle = _cycle(item_id, _payday_before(today))
    balance = _rest_of(item_id) - sum(booking.cents for booking in cycle if booking.day < today)
    checking, pending = balance, sum(booking.cents for booking in cycle if booking.day == today and booking.cents > 0)
    savings = _between(item_id, "savings", persona_of(item_id).savings_cents)
    bought = [booking for booking in _purchases(item_id, today.replace(day=1)) if booking.day <= today]
    owed = sum(booking.cents for booking in bought if booking.day < today)
    if today.day == 1:  # the payment for last month is still pending
        owed += sum(booking.cents for booking in _purchases(item_id, (today - timedelta(days=1)).replace(day=1)))
    unused = CARD_LIMIT_CENTS - owed - sum(booking.cents for booking in bought if booking.day == today)
    balances = (
        ("depository", "checking", "Everyday Checking", checking, max(0, checking - pending), None),
        ("depository", "savings", "Rainy Day Savings", savings, savings, None),
        ("credit", "credit card", "Travel Card", owed, unused, CARD_LIMIT_CENTS),
    )
    return [
        {
            "account_id": _account_id(item_id, subtype),
            "item_id": item_id,
            "institution_id": None,
            "institution_name": "Sandbox Bank",
            "persistent_account_id": None,
            "name": name,
            "official_name": f"Sandbox Bank {name}",
            "mask": f"{_number(item_id, f'{subtype}/mask', 10_000):04d}",
            "type": kind,
            "subtype": subtype,
            "currency": "USD",
            "available_cents": available,
            "current_cents": current,
            "limit_cents": limit,
        }
        for kind, subtype, name, current, available, limit in balances
    ]


def transactions_of(item_id: str, today: date) -> list[Transaction]:
    """Return the transactions of `HISTORY_DAYS` days, newest first. Today's transactions are pending."""
    first = today - timedelta(days=HISTORY_DAYS - 1)
    booked = [("checking", booking) for booking in _current_account(item_id, first, today)]
    booked += [("credit card", booking) for booking in _card(item_id, first, today)]
    transactions = [
        _transaction(item_id, subtype, booking, today) for subtype, booking in booked if first <= booking.day <= today
    ]
    return sorted(transactions, key=itemgetter("date", "transaction_id"), reverse=True)


def _current_account(item_id: str, first: date, last: date) -> Iterator[Booking]:
    payday = _payday_before(first)
    while payday <= last:
        yield from _cycle(item_id, payday)
        payday += timedelta(days=CYCLE_DAYS)


def _cycle(item_id: str, payday: date) -> list[Booking]:
    """Return the transactions of a cycle in order. A cycle ends on the day before the next payday."""
    rest = balance = _rest_of(item_id)
    bookings: list[Booking] = []
    for number in range(CYCLE_DAYS):
        day = payday + timedelta(days=number)
        of_day = list(_day(item_id, day, is_payday=number == 0))
        was, balance = balance, balance - sum(booking.cents for booking in of_day)
        if balance < 0 <= was:
            of_day.append(Booking(day, "Overdraft Fee", "bank_fees", OVERDRAFT_FEE_CENTS))
            balance -= OVERDRAFT_FEE_CENTS
        bookings += of_day
    if balance != rest:
        persona, last = persona_of(item_id), payday + timedelta(days=CYCLE_DAYS - 1)
        bookings.append(Booking(last, *(persona.surplus if balance > rest else persona.shortfall), balance - rest))
    return bookings


def _day(item_id: str, day: date, *, is_payday: bool) -> Iterator[Booking]:
    """Yield a day's transactions of the checking account, without fees and transfers that depend on the balance."""
    persona, seed = persona_of(item_id), f"{item_id}/{day}"
    if is_payday and persona.pay_cents is not None:
        yield Booking(day, "Northwind Payroll", "income", -_between(item_id, "pay", persona.pay_cents))
    if persona.gig_cents is not None and _number(seed, "works", 7) < 3:
        platform = ("Rideway Driver", "Courier Direct")[_number(seed, "platform", 2)]
        yield Booking(day, platform, "income", -_between(seed, "gig", persona.gig_cents))
    if day.day == 1:
        yield Booking(day, "Maple Court Rent", "rent_and_utilities", _between(item_id, "rent", persona.rent_cents))
        month_before = (day - timedelta(days=1)).replace(day=1)
        if owed := sum(purchase.cents for purchase in _purchases(item_id, month_before)):
            yield Booking(day, "Card Payment", "loan_payments", owed)
    if day.day == 12:
        yield Booking(day, "Power & Light", "rent_and_utilities", _between(seed, "power", (6_000, 14_000)))
    if day.day == 20:
        yield Booking(day, "Harbour Mobile", "rent_and_utilities", 4_500)
    if _number(seed, "shops", 7) < 2:
        yield Booking(day, "Corner Grocery", "food_and_drink", _between(seed, "groceries", (3_000, 9_500)))
    if day.weekday() < 5 and _number(seed, "rides", 3) == 0:
        yield Booking(day, "City Transit", "transportation", _between(seed, "ride", (300, 1_200)))


def _card(item_id: str, first: date, last: date) -> Iterator[Booking]:
    month = (first.replace(day=1) - timedelta(days=1)).replace(day=1)
    while month <= last:
        following = (month + timedelta(days=31)).replace(day=1)
        purchases = list(_purchases(item_id, month))
        yield from purchases
        if purchases:
            yield Booking(following, "Card Payment", "loan_payments", -sum(purchase.cents for purchase in purchases))
        month = following


def _purchases(item_id: str, month: date) -> Iterator[Booking]:
    day = month
    while day.month == month.month:
        seed = f"{item_id}/{day}"
        if _number(seed, "buys", 3) == 0:
            merchant, category = _MERCHANTS[_number(seed, "merchant", len(_MERCHANTS))]
            yield Booking(day, merchant, category, _between(seed, "purchase", (900, 7_500)))
        day += timedelta(days=1)


def _transaction(item_id: str, subtype: str, booking: Booking, today: date) -> Transaction:
    name = f"{item_id}/{subtype}/{booking.day}/{booking.merchant}"  # a merchant has at most one transaction per day
    return {
        "transaction_id": f"tx_{digest_of(name)[:24]}",
        "account_id": _account_id(item_id, subtype),
        "item_id": item_id,
        "amount_cents": booking.cents,
        "currency": "USD",
        "date": booking.day.isoformat(),
        "name": booking.merchant.upper(),
        "merchant_name": booking.merchant,
        "category": booking.category,
        "pending": booking.day == today,
    }


def _payday_before(day: date) -> date:
    return day - timedelta(days=(day - _A_PAYDAY).days % CYCLE_DAYS)


def _rest_of(item_id: str) -> int:
    return _between(item_id, "rest", persona_of(item_id).rest_cents)


def _account_id(item_id: str, subtype: str) -> str:
    return f"acc_{digest_of(f'{item_id}/{subtype}')[:24]}"


def _between(seed: str, name: str, limits: tuple[int, int]) -> int:
    low, high = limits
    return low + _number(seed, name, high - low + 1)


def _number(seed: str, name: str, below: int) -> int:
    """Return a number from 0 to `below` - 1 that depends only on the seed and the name."""
    return int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:8], "big") % below
