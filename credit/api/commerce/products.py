"""Represent an offer as a product of the protocol. The variants of the product are the terms of the offer.

In the protocol, agents compare products by their price. The price of a loan is the amount financed, not the cost of the
loan. `metadata.price_means` and the first sentence of every description state this.
"""

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django.conf import settings

from credit.core.figures import either, money
from credit.core.quotes import AMOUNT_MAX_CENTS
from credit.models import Offer
from credit.offers.providers import number_of

CURRENCY = "USD"
PRICE_MEANS = "amount_financed"
TERM = "Term"
ANY_TERM = "any"
# The protocol's largest amount, which is also the largest integer that every JSON parser represents exactly.
AMOUNT_MAX = 2**53 - 1
_PRICE_IN_WORDS = "The price is the amount financed, not the cost of the loan"


def terms_of(offer: Offer) -> list[str]:
    """Return the ids of an offer's terms in the lender's order. An id is a number of months.

    For an offer without terms, return ANY_TERM.
    """
    return [str(months) for months in dict.fromkeys(offer.term_options_months or ())] or [ANY_TERM]


def is_possible(offer: Offer) -> bool:
    """Return whether an application is possible. If reviewers decide, the lender's ID must be an integer."""
    return settings.REVIEW_POLICY == "open" or number_of(offer.provider_id) is not None


def price_bounds(offer: Offer) -> tuple[int, int]:
    """Return the smallest and the largest amount financed, in cents.

    Without a minimum, the smallest amount is one cent, because a price of 0 would mean free. Without a maximum, the
    largest amount is the maximum amount of a quote.
    """
    low, high = offer.loan_amount_min_cents or 1, offer.loan_amount_max_cents
    if high is None:
        high = max(low, AMOUNT_MAX_CENTS)
    return min(low, high, AMOUNT_MAX), min(high, AMOUNT_MAX)


def describe(offer: Offer, terms: Collection[str], inputs: dict[str, list[dict[str, str]]] | None = None) -> Any:
    """Return a product with the variants of `terms`. In a lookup, `inputs` maps each term to its requested ids."""
    (low, high), currency = price_bounds(offer), offer.conventions.currency
    product = {
        "id": str(offer.pk),
        "title": offer.name,
        "description": {"plain": " ".join(filter(None, (_in_words(offer, terms_of(offer)), offer.description)))},
        "categories": [{"value": offer.product_type, "taxonomy": "merchant"}],
        "price_range": {"min": _price(low, currency), "max": _price(high, currency)},
        "variants": [_variant(offer, term, inputs) for term in terms],
        "metadata": {
            **_figures(offer),
            "term_options_months": offer.term_options_months,
            "product_type": offer.product_type,
            "provider_id": offer.provider_id,
            "offer_version": offer.version,
        },
    }
    options = [{"id": term, "label": term_label(term)} for term in terms_of(offer) if term != ANY_TERM]
    return {**product, "options": [{"name": TERM, "values": options}]} if options else product


def selected_options(term: str) -> list[dict[str, str]]:
    return [] if term == ANY_TERM else [{"name": TERM, "id": term, "label": term_label(term)}]


def term_label(term: str) -> str:
    return "Any term" if term == ANY_TERM else "1 month" if term == "1" else f"{term} months"


def _variant(offer: Offer, term: str, inputs: dict[str, list[dict[str, str]]] | None) -> dict[str, Any]:
    variant = {
        "id": f"{offer.pk}-{term}",
        "title": f"{offer.name}, {term_label(term).lower()}",
        "description": {"plain": _in_words(offer, [term])},
        "price": _price(price_bounds(offer)[0], offer.conventions.currency),
        "availability": {"available": is_possible(offer)},
        "options": selected_options(term),
        "metadata": {**_figures(offer), "term_months": None if term == ANY_TERM else int(term)},
    }
    return variant if inputs is None else {**variant, "inputs": inputs[term]}


def _figures(offer: Offer) -> dict[str, Any]:
    return {
        "price_means": PRICE_MEANS,
        "amount_min_cents": offer.loan_amount_min_cents,
        "amount_max_cents": offer.loan_amount_max_cents,
        # The rates of an EU offer are note rates. Only its example has an annual percentage rate.
        "apr_min_percent": None if offer.conventions.is_eu else offer.apr_min_percent,
        "apr_max_percent": None if offer.conventions.is_eu else offer.apr_max_percent,
    }


def _price(cents: int, currency: str) -> dict[str, Any]:
    return {"amount": cents, "currency": currency}


def _in_words(offer: Offer, terms: list[str]) -> str:
    low, high = price_bounds(offer)
    currency = offer.conventions.shown_currency
    most = "" if offer.loan_amount_max_cents is None else f" to {money(high, currency)}"
    amounts = f"from {money(low, currency)}{most}"
    length = "Any term" if terms == [ANY_TERM] else f"Repaid over {either([*terms[:-1], term_label(terms[-1])])}"
    example = offer.representative_example
    always = f"{_PRICE_IN_WORDS}: {amounts}. {_rates(offer)}. {length}."
    # Directive (EU) 2023/2225, Art. 8 and 13, requires these sentences for an EU offer.
    advertising = (offer.warning and f"{offer.warning}.", example["text"] if example else "", offer.personalized)
    return " ".join([always, *filter(None, advertising)])


def _rates(offer: Offer) -> str:
    low, high = offer.apr_min_percent, offer.apr_max_percent
    name = "borrowing rate" if offer.conventions.is_eu else "annual percentage rate (APR)"
    if low is None and high is None:
        return f"No {name} is named"
    if low == high:
        return f"The {name} is {_percent(low)}"
    bounds = ("" if low is None else f" from {_percent(low)}") + ("" if high is None else f" up to {_percent(high)}")
    return f"The {name} is{bounds}"


def _percent(rate: float | None) -> str:
    return f"{Decimal(str(rate)).normalize():f} %"
