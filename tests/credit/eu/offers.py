"""EU offers and their lender."""

from credit.core.eu_credit import REQUIRED_TEXTS
from tests.factories import OfferFactory, ProviderFactory

CONTACT = {
    "phone": "+33 1 23 45 67 89", "email": "credit@harbor.example", "register_number": "RCS Paris 552 100 554",
    "supervisor": {"name": "Supervisory Authority", "address": "4 Place de Budapest, 75009 Paris"},
    "redress": {"name": "Ombudsman", "url": "https://ombudsman.example/complaints"},
    "debt_advice": "Debt Advice Center, +33 1 98 76 54 32",
}  # fmt: skip
LENDER = {"name": "Harbor Crédit", "address": "1 Quai du Port, 13002 Marseille", **CONTACT}
EXAMPLE = {"amount_cents": 1_000_000, "months": 24, "rate_percent": 14.2, "fee_cents": 30_000}
TEXTS = {name: f"Words about {name}." for name in REQUIRED_TEXTS} | {"sureties": "does not apply"}
EU_TERMS = {
    "jurisdiction": "eu", "regime": "ccd2", "currency": "EUR", "day_count": "act_365", "fee_financed": True,
    "example": EXAMPLE, "terms_text": "You repay in level monthly payments.", "texts": TEXTS,
}  # fmt: skip
LOAN = {
    "apr_min_percent": 6.9, "apr_max_percent": 17.5, "loan_amount_min_cents": 100_000,
    "loan_amount_max_cents": 4_000_000, "term_options_months": [12, 24, 36, 60],
}  # fmt: skip
LARGE = {"loan_amount_max_cents": 10_000_001}


def eu_lender(**columns):
    return ProviderFactory(id="700", **{**LENDER, **columns})


def eu_offer(**terms):
    """Return a listed EU offer of a lender that has every field."""
    return OfferFactory(provider=eu_lender(), **{**LOAN, **EU_TERMS, **terms})
