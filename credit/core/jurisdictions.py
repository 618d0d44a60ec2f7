"""The conventions of an offer's jurisdiction: currency, APR method, day count, and treatment of the fee.

An offer declares its conventions, and the application pins them with the offer's terms. If an application has no pinned
offer, or a pinned offer without a jurisdiction, US law applies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

US, EU = JURISDICTIONS = ("us", "eu")
ACT_365, THIRTY_360 = DAY_COUNTS = ("act_365", "30_360")
METHODS = {US: "us_appendix_j", EU: "eu_annex_iii"}
DEFAULT_CURRENCY = {US: "USD", EU: "EUR"}


@dataclass(frozen=True, slots=True)
class Conventions:
    """The conventions of an offer. With `is_fee_kept_back`, the lender pays out the amount minus the fee."""

    jurisdiction: str = US
    currency: str = DEFAULT_CURRENCY[US]
    day_count: str = ACT_365
    is_fee_kept_back: bool = True

    @classmethod
    def of(cls, terms: Mapping[str, Any] | None) -> Self:
        """Return the conventions of an offer's current or pinned terms."""
        offered = terms or {}
        jurisdiction = offered.get("jurisdiction") or US
        return cls(
            jurisdiction,
            offered.get("currency") or DEFAULT_CURRENCY[jurisdiction],
            offered.get("day_count") or ACT_365,
            offered.get("fee_financed") is not False,
        )

    @property
    def is_eu(self) -> bool:
        return self.jurisdiction == EU

    @property
    def shown_currency(self) -> str | None:
        """The currency for `figures.money`, or None under US law, where amounts have a dollar sign."""
        return self.currency if self.is_eu else None

    @property
    def apr_method(self) -> str:
        return METHODS[self.jurisdiction]
