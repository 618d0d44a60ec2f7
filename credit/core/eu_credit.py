"""Validate an offer and its lender against the requirements of Directive (EU) 2023/2225.

Annex I and Article 21 require figures and descriptions. An offer's texts are the lender's wording for the descriptions.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from config.core.currencies import exponent_of
from credit.core.figures import outside
from credit.core.jurisdictions import EU

CCD2, CCD2_SMALL, NO_REGIME = REGIMES = ("ccd2", "ccd2_small", "none")
# Unsecured credit above the limit has this `regime_reason`.
RENOVATION = "renovation"
DOES_NOT_APPLY = "does not apply"
AMOUNT_MAX_EUR = 100_000
TEXT_MAX_LENGTH = 2_000
TERMS_TEXT_MAX_LENGTH = 10_000

REQUIRED_TEXTS = ("drawdown", "late_payment", "default", "sureties", "ancillary", "early_repayment", "ombudsman")
# Open-end credit also requires these texts (Art. 21(1)).
TEXTS_OF_LINE = ("termination",)
OPTIONAL_TEXTS = (
    "credit_type", "insurance", "intermediary", "goods", "cash_price", "allocation", "interest_and_charges",
    "drawdown_mechanisms", "amortisation", "rate_index", "rate_periods", "rate_changes", "unknown_costs", "accounts",
    "means_of_payment", "other_charges", "charge_changes", "notary", "validity", "benchmark", "representative",
    "governing_law", "court", "language", "linked_credit", "other_terms",
)  # fmt: skip
TEXTS = (*REQUIRED_TEXTS, *TEXTS_OF_LINE, *OPTIONAL_TEXTS)

# An EU offer requires these fields of the lender in addition to the fields for notices.
LENDER_FIELDS = {
    "phone": "telephone number",
    "email": "email address",
    "register_number": "registration number",
    "supervisor": "supervisory authority",
    "redress": "body for complaints out of court",
    "debt_advice": "place for debt advice",
}
TITLES = {"name": "name", "address": "postal address", **LENDER_FIELDS}
_INFORMATION = ("example", "terms_text")
_EU_TERMS = ("regime", "regime_reason", "day_count", "fee_financed", "example", "texts")
# These are rounded exchange rates to the euro on October 18, 2023, the date of the directive.
_PER_EURO = {
    "EUR": 1, "CHF": 0.95, "CZK": 24.7, "DKK": 7.46, "GBP": 0.87, "HUF": 385, "ISK": 147, "NOK": 11.6, "PLN": 4.45,
    "RON": 4.97, "SEK": 11.6, "USD": 1.06,
}  # fmt: skip

REQUIRED_BY_REGIME = f"Required if `regime` is `{CCD2}` or `{CCD2_SMALL}`."
# A fault is a field with its error.
Fault = tuple[str, str]


def follows_directive(terms: Mapping[str, Any] | None) -> bool:
    """Return whether the European information form (Article 10) is required before an acceptance of these terms."""
    offered = terms or {}
    return offered.get("jurisdiction") == EU and offered.get("regime") != NO_REGIME


def applies(text: str | None) -> bool:
    return bool(text) and str(text).strip().rstrip(".").casefold() != DOES_NOT_APPLY


def faults_of(terms: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the missing or invalid fields of an offer's terms. The terms must have `jurisdiction` and `currency`."""
    yield from (_eu_faults if terms["jurisdiction"] == EU else _us_faults)(terms)


def _us_faults(terms: Mapping[str, Any]) -> Iterator[Fault]:
    if terms["currency"] != "USD":
        yield "currency", "Must be USD if `jurisdiction` is `us`."
    for name in _EU_TERMS:
        if terms[name] is not None:
            yield name, "Must be null if `jurisdiction` is `us`."


def _eu_faults(terms: Mapping[str, Any]) -> Iterator[Fault]:
    required = dict.fromkeys(("regime", "day_count", "fee_financed"), "Required if `jurisdiction` is `eu`.")
    if terms["regime"] != NO_REGIME:
        required |= dict.fromkeys(_INFORMATION, REQUIRED_BY_REGIME)
    yield from ((name, message) for name, message in required.items() if terms[name] is None)
    if terms["regime"] in {CCD2_SMALL, NO_REGIME} and terms["regime_reason"] is None:
        yield "regime_reason", f"Required if `regime` is `{terms['regime']}`."
    if terms["regime"] != NO_REGIME:
        texts = terms["texts"] or {}
        is_line = not terms["term_options_months"]
        for name in (*REQUIRED_TEXTS, *(TEXTS_OF_LINE if is_line else ())):
            if name not in texts:
                yield f"texts.{name}", f"Required for EU credit. The value can be `{DOES_NOT_APPLY}`."
    if terms["regime"] == CCD2:
        yield from _ceiling_faults(terms)
    if terms["example"] is not None:
        yield from _example_faults(terms)


def minor_units_of_euros(euros: int, currency: str) -> int | None:
    """Convert euros to a currency at the fixed rate. Return None if the currency has no rate."""
    rate = _PER_EURO.get(currency)
    return None if rate is None else int(euros * Decimal(str(rate)) * 10 ** exponent_of(currency))


def _ceiling_faults(terms: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield an error for each amount above EUR 100,000.

    Only unsecured renovation credit can exceed this limit (Art. 2).
    """
    is_unsecured = not applies((terms["texts"] or {}).get("sureties", "?"))
    if terms["regime_reason"] == RENOVATION and is_unsecured:
        return
    limit = minor_units_of_euros(AMOUNT_MAX_EUR, terms["currency"])
    most = terms["loan_amount_max_cents"]
    if limit is None:
        yield "currency", f"Must be one of {', '.join(_PER_EURO)} if `regime` is `ccd2`, because its limit is in euros."
    if most is None:
        yield "loan_amount_max_cents", f"Required if `regime` is `ccd2`, because its limit is EUR {AMOUNT_MAX_EUR:,}."
    elif limit is not None and most > limit:
        yield (
            "loan_amount_max_cents",
            (
                f"For more than EUR {AMOUNT_MAX_EUR:,}, `regime` must be `none`. Only unsecured credit for renovation "
                f"is `ccd2`. It requires `regime_reason` `{RENOVATION}` and `texts.sureties` `{DOES_NOT_APPLY}`."
            ),
        )


def _example_faults(terms: Mapping[str, Any]) -> Iterator[Fault]:
    example, members = terms["example"], {"amount_cents": "amount_cents", "term_months": "months"}
    if example["fee_cents"] >= example["amount_cents"]:
        yield "example.fee_cents", "Must be less than `example.amount_cents`."
    for member, _, words in outside(terms, example["amount_cents"], example["months"]):
        yield f"example.{members[member]}", words
    low, high = terms["apr_min_percent"], terms["apr_max_percent"]
    if not (low is None or low <= example["rate_percent"]) or not (high is None or example["rate_percent"] <= high):
        yield "example.rate_percent", "Must be within `apr_min_percent` and `apr_max_percent`."
