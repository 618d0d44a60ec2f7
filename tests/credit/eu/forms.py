"""European information forms of given or random loans."""

from datetime import date
from decimal import Decimal
from types import SimpleNamespace

from credit.core.eu_credit import TEXTS as NAMES
from credit.core.jurisdictions import Conventions
from credit.core.quotes import cost_of, eu_totals
from credit.terms.precontract import form_of
from tests.credit.eu.offers import EU_TERMS, LENDER

TODAY = date(2026, 11, 29)
WORDS = "The lender charges interest in arrears at the statutory rate, and 5.00 EUR for each reminder. "
LANGUAGES = ("en", "es", "de")


def form(language, *, amount=1_000_000, rate="14.2", months=24, fee=30_000, length=20, currency="EUR"):
    offer = {**EU_TERMS, "currency": currency, "texts": {name: (WORDS * 20)[:length].strip() for name in NAMES}}
    conventions = Conventions.of(offer)
    figures, schedule = cost_of(
        amount, Decimal(rate), months, fee, None, method=conventions.apr_method, today=TODAY
    )  # fmt: skip
    totals = eu_totals(conventions, amount, fee, figures["finance_charge_cents"])
    loan = {"amount_cents": amount, "rate_percent": rate, "term_months": months, "fee_cents": fee}
    terms = {**loan, **figures, **totals, "currency": currency}
    return form_of(offer, SimpleNamespace(**LENDER), terms, schedule, language=language, today=TODAY)


def random_form(language, chance):
    """Return the form of a random loan in a currency with 0, 2, or 3 decimal places."""
    amount = chance.randint(100_000, 9_999_999)
    return form(
        language, amount=amount, rate=f"{chance.uniform(0.5, 20):.2f}", months=chance.randint(6, 84),
        fee=chance.randint(0, amount // 20), length=chance.randint(15, 400),
        currency=chance.choice(["EUR", "EUR", "PLN", "JPY", "TND"]),
    )  # fmt: skip
