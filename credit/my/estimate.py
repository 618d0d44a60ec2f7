"""Estimate the installments of a loan from an offer's rates."""

from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext

from config.core.currencies import number_in_words, percent_in_words
from config.core.errors import ValidationFailed
from credit.core.figures import Figures, money
from credit.core.loan_words import two_places
from credit.core.quotes import make_quote
from credit.models import Offer
from credit.my.content import Row


def rates_of(offer: Offer) -> dict[Decimal, str]:
    """Return the lowest and the highest rate of an offer, each with its text. Equal rates are a single rate."""
    rates = (rate for rate in (offer.apr_min_percent, offer.apr_max_percent) if rate is not None)
    show = number_in_words if offer.conventions.is_eu else two_places
    return {Decimal(str(rate)): percent_in_words(show(float(rate))) for rate in rates}


def quotes_of(offer: Offer, data: Any, *, today: date) -> list[dict[str, Any]]:
    """Return the quote without a fee for each rate of `rates_of`. `rate_percent` is the rate.

    The list is empty if the amount or the term is missing or outside the offer's limits, and for a line of credit.
    """
    figures = Figures(data)
    if not offer.term_options_months or not figures.amount_cents or not figures.term_months:
        return []
    quotes = []
    for rate in rates_of(offer):
        try:
            quote = make_quote(
                offer, amount_cents=figures.amount_cents, term_months=figures.term_months, apr_percent=rate,
                fee_cents=0, first_payment_on=None, method=None, today=today,
            )  # fmt: skip
        except ValidationFailed:
            return []
        quotes.append({**quote, "rate_percent": rate})
    return quotes


def installments_of(offer: Offer, data: Any, *, today: date) -> list[Row]:
    """Return the monthly payment and the total for each quote of `quotes_of`."""
    currency, rates, rows = offer.conventions.shown_currency, rates_of(offer), []
    for quote in quotes_of(offer, data, today=today):
        sums = {name: money(quote[f"{name}_cents"], currency) for name in ("payment", "total_of_payments")}
        rows.append(
            (
                gettext("At %(rate)s a year") % {"rate": rates[quote["rate_percent"]]},
                gettext("%(payment)s a month, %(total_of_payments)s in all") % sums,
            )
        )
    return rows
