"""What an application says in figures: read from the person's own data by names that stand here and nowhere else."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from config.core.ids import INT64_MAX

_REFERENCE = re.compile(r"a-([0-9a-f]{8})", re.ASCII | re.IGNORECASE)


def reference_of(application_id: UUID) -> str:
    """Return what people call an application: `A-` and the end of its id, which differs where ids are near."""
    return f"A-{application_id.hex[-8:].upper()}"


def end_of_id(reference: str) -> str | None:
    """Return the end of the id that a reference spells, None where it is none."""
    spelled = _REFERENCE.fullmatch(reference)
    return spelled[1].lower() if spelled else None


@dataclass(frozen=True, slots=True)
class Figures:
    """What `application_data` says in cents and months; None for what it does not say as a whole number from 0 on."""

    data: Any

    @property
    def amount_cents(self) -> int | None:
        return self._number("amount_cents")

    @property
    def term_months(self) -> int | None:
        return self._number("term_months")

    @property
    def monthly_income_cents(self) -> int | None:
        """A twelfth of `income_cents`, which is a year's, where no month's is told."""
        a_year, a_month = self._number("income_cents"), self._number("monthly_income_cents")
        return a_year // 12 if a_month is None and a_year is not None else a_month

    @property
    def monthly_debt_cents(self) -> int | None:
        return self._number("monthly_debt_cents")

    def _number(self, name: str) -> int | None:
        value = self.data.get(name) if isinstance(self.data, dict) else None
        return value if type(value) is int and 0 <= value <= INT64_MAX else None

    def percent_of_income(self, monthly_cents: int | None) -> int | None:
        """Return a monthly amount in whole per cent of the income, None where either is unknown or there is none."""
        income_cents = self.monthly_income_cents
        if monthly_cents is None or not income_cents:
            return None
        return round(100 * monthly_cents / income_cents)

    def outside(self, terms: Mapping[str, Any] | None) -> dict[str, str]:
        """Return, by figure, what limit of an offer's terms it does not keep."""
        terms, found = terms or {}, {}
        amount, term = self.amount_cents, self.term_months
        least, most = terms.get("loan_amount_min_cents"), terms.get("loan_amount_max_cents")
        if amount is not None:
            if least is not None and amount < least:
                found["amount_cents"] = f"below the offer's least, {money(least)}"
            if most is not None and amount > most:
                found["amount_cents"] = f"above the offer's most, {money(most)}"
        lengths = terms.get("term_options_months")
        if lengths and term is not None and term not in lengths:
            found["term_months"] = f"not one of the offer's: {', '.join(map(str, lengths))}"
        return found


def either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def money(cents: int) -> str:
    """Return cents as people read them: 250000 is "$2,500.00"."""
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}${cents // 100:,}.{cents % 100:02}"
