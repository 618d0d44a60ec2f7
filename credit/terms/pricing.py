"""The price that a score gives a loan: proposed to people, and what an automatic approval needs."""

from typing import Any

from credit.core.card import APPROVE, Price
from credit.core.figures import Figures
from credit.models import Application
from credit.models.terms import number
from credit.terms.loans import lowest_rate


def price_of(application: Application) -> Price | None:
    """Return the price that the card names for the score's total; None where it does not approve, or names none."""
    score = application.decision_score
    return score.version.card.price_of(score.total) if score is not None and score.outcome == APPROVE else None


def proposed_terms(application: Application) -> dict[str, Any]:
    """Return what people are proposed: what was applied for at the score's price, else at the offer's lowest rate."""
    said, offer = Figures(application.application_data), application.offer_snapshot or {}
    price, amount = price_of(application), said.amount_cents
    rate = lowest_rate(offer)
    if price is not None:
        rate = price.rate_percent
        amount = min(amount or 0, price.amount_max_cents or amount or 0) or None
    term = said.term_months if offer.get("term_options_months") else None
    return {"amount_cents": amount, "rate_percent": number(rate), "term_months": term}


def automatic_terms(application: Application) -> dict[str, Any] | None:
    """Return the terms of an approval without a person; None where it is left to people.

    That is where neither the score names a price for as much as was applied for, nor the offer has a single rate.
    """
    price, amount = price_of(application), Figures(application.application_data).amount_cents
    if price is not None:
        is_too_much = amount is not None and price.amount_max_cents is not None and amount > price.amount_max_cents
        return None if is_too_much else {"rate_percent": number(price.rate_percent)}
    offer = application.offer_snapshot or {}
    lowest, highest = offer.get("apr_min_percent"), offer.get("apr_max_percent")
    return {} if lowest is not None and lowest == highest else None
