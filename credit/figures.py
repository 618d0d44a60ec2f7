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
    """Amounts in cents; None for what the data does not say as a whole number from 0 on."""

    amount_cents: int | None
    term_months: int | None
    monthly_income_cents: int | None
    monthly_debt_cents: int | None

    @classmethod
    def of(cls, data: Any) -> "Figures":
        """Read `application_data`; `income_cents` is a year's."""
        a_year, a_month = _number(data, "income_cents"), _number(data, "monthly_income_cents")
        return cls(
            amount_cents=_number(data, "amount_cents"),
            term_months=_number(data, "term_months"),
            monthly_income_cents=a_year // 12 if a_month is None and a_year is not None else a_month,
            monthly_debt_cents=_number(data, "monthly_debt_cents"),
        )

    def percent_of_income(self, monthly_cents: int | None) -> int | None:
        """Return a monthly amount in whole per cent of the income, None where either is unknown or there is none."""
        if monthly_cents is None or not self.monthly_income_cents:
            return None
        return round(100 * monthly_cents / self.monthly_income_cents)

    def outside(self, terms: Mapping[str, Any] | None) -> dict[str, str]:
        """Return, by figure, what limit of an offer's terms it does not keep."""
        terms, found = terms or {}, {}
        least, most = terms.get("loan_amount_min_cents"), terms.get("loan_amount_max_cents")
        if self.amount_cents is not None:
            if least is not None and self.amount_cents < least:
                found["amount_cents"] = f"below the offer's least, {money(least)}"
            if most is not None and self.amount_cents > most:
                found["amount_cents"] = f"above the offer's most, {money(most)}"
        lengths = terms.get("term_options_months")
        if lengths and self.term_months is not None and self.term_months not in lengths:
            found["term_months"] = f"not one of the offer's: {', '.join(map(str, lengths))}"
        return found


def _number(data: Any, name: str) -> int | None:
    value = data.get(name) if isinstance(data, dict) else None
    return value if type(value) is int and 0 <= value <= INT64_MAX else None


def either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def money(cents: int) -> str:
    """Return cents as people read them: 250000 is "$2,500.00"."""
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}${cents // 100:,}.{cents % 100:02}"
