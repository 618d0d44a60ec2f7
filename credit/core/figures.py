"""The figures of an application. Only this module contains the names of their fields in `application_data`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.utils import formats
from django.utils.translation import gettext

from config.core.currencies import amount_in_words, exponent_of
from config.core.ids import INT64_MAX
from credit.core.jurisdictions import DEFAULT_CURRENCY, US, Conventions

# A bound is a field, a limit, and a message.
Bound = tuple[str, Any, str]
_REFERENCE = re.compile(r"a[- ]?([0-9a-f]{8})", re.ASCII | re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?=.*[$,.A-Z])(?:\$|([A-Z]{3}))?\s*([0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,13})(?:\.([0-9]{1,4}))?\s*([A-Z]{3})?",
    re.ASCII,
)
PLAIN_AMOUNT = re.compile(r"[0-9]{1,13}", re.ASCII)


def reference_of(application_id: UUID) -> str:
    """Return an application's reference: `A-` and the end of the ID. Several IDs can have the same beginning."""
    return f"A-{application_id.hex[-8:].upper()}"


def end_of_id(reference: str) -> str | None:
    """Return the last 8 digits of an application's ID from its reference, or None for other texts."""
    spelled = _REFERENCE.fullmatch(reference)
    return spelled[1].lower() if spelled else None


def amount_in(typed: str) -> tuple[int, str] | None:
    """Parse an amount, such as $20,000 or 20,000 EUR, into minor units and a currency. Return None for other texts.

    An amount without a currency code is in dollars, and requires a `$`, a comma, or two decimals.
    """
    spelled = _AMOUNT.fullmatch(typed)
    if spelled is None or (spelled[1] and spelled[4]):
        return None
    currency = spelled[1] or spelled[4] or DEFAULT_CURRENCY[US]
    places, decimals = exponent_of(currency), spelled[3] or ""
    if len(decimals) not in {0, places}:
        return None
    return int(spelled[2].replace(",", "") + (decimals or "0" * places)), currency


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of `application_data` in cents and months. Negative, fractional, and invalid values are None."""

    data: Any

    @property
    def amount_cents(self) -> int | None:
        return self._number("amount_cents")

    @property
    def term_months(self) -> int | None:
        return self._number("term_months")

    @property
    def monthly_income_cents(self) -> int | None:
        """The monthly income, or a twelfth of the yearly `income_cents` if no monthly income is given."""
        a_year, a_month = self._number("income_cents"), self._number("monthly_income_cents")
        return a_year // 12 if a_month is None and a_year is not None else a_month

    @property
    def monthly_debt_cents(self) -> int | None:
        return self._number("monthly_debt_cents")

    @property
    def known(self) -> set[str]:
        """The names of the fields with a valid value, except for the yearly income."""
        names = ("amount_cents", "term_months", "monthly_income_cents", "monthly_debt_cents")
        return {name for name in names if self._number(name) is not None}

    def _number(self, name: str) -> int | None:
        value = self.data.get(name) if isinstance(self.data, dict) else None
        return value if type(value) is int and 0 <= value <= INT64_MAX else None

    def percent_of_income(self, monthly_cents: int | None) -> int | None:
        income_cents = self.monthly_income_cents
        if monthly_cents is None or not income_cents:
            return None
        return round(100 * monthly_cents / income_cents)


def outside(terms: Mapping[str, Any], amount_cents: int | None, term_months: int | None) -> Iterator[Bound]:
    """Yield the limits of an offer's terms that the amount or the term violates."""
    least, most = terms.get("loan_amount_min_cents"), terms.get("loan_amount_max_cents")
    currency = Conventions.of(terms).shown_currency
    if amount_cents is not None and least is not None and amount_cents < least:
        yield "amount_cents", least, f"The offer lends {money(least, currency)} or more."
    if amount_cents is not None and most is not None and amount_cents > most:
        yield "amount_cents", most, f"The offer lends {money(most, currency)} or less."
    months = sorted(terms.get("term_options_months") or ())
    if months and term_months is not None and term_months not in months:
        named = f"term is {months[0]}" if len(months) == 1 else f"terms are {', '.join(map(str, months))}"
        yield "term_months", months, f"The offer's {named} {'month' if months == [1] else 'months'}."


def date_in_words(day: date) -> str:
    # Translators: a day as Django's `date` filter writes it.
    return formats.date_format(day, gettext("F j, Y"))


def either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def money(cents: int | None, currency: str | None = None) -> str:
    """Format an amount in minor units for display: 250000 becomes "$2,500.00", None becomes "".

    `currency` is `Conventions.shown_currency`. With a currency, the amount has the currency's code and the format of
    the active language.
    """
    if cents is None:
        return ""
    if currency is not None:
        return amount_in_words(cents, currency)
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}${cents // 100:,}.{cents % 100:02}"
