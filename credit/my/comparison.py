"""Estimate the installments of a loan, and compare the costs of offers for an amount and a number of months."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.core.currencies import exponent_of, number_in_words, percent_in_words, to_minor_units
from config.core.errors import ValidationFailed
from config.core.figure_fields import AmountField, FigureField
from config.core.ids import parse_positive_int64
from credit.core.apr import TERM_MAX_MONTHS
from credit.core.figures import Figures, money
from credit.core.loan_words import rows_of, two_places
from credit.core.quotes import AMOUNT_MAX_CENTS, make_quote
from credit.models import Offer
from credit.my.content import Row


def rates_of(offer: Offer) -> dict[Decimal, str]:
    """Return the lowest and the highest rate of an offer, each with its text.

    Equal rates are returned only once.
    """
    rates = (rate for rate in (offer.apr_min_percent, offer.apr_max_percent) if rate is not None)
    show = number_in_words if offer.conventions.is_eu else two_places
    return {Decimal(str(rate)): percent_in_words(show(float(rate))) for rate in rates}


def quotes_of(offer: Offer, data: Any, *, today: date) -> list[dict[str, Any]]:
    """Return a quote, without a fee, for each rate that `rates_of` returns. `rate_percent` is the rate.

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


AMOUNT, MONTHS = "amount", "months"
_RANGE = " \u2013 "
_AMOUNT_MAX = AMOUNT_MAX_CENTS // 100
_SHOWN = ("payment_cents", "apr_percent", "total_of_payments_cents")
WHOLE_MONTHS = _("Enter whole months, such as 40.")
_ENTER = {AMOUNT: _("Enter the amount that you want to borrow."), MONTHS: _("Choose the number of months.")}


class ComparisonForm(forms.Form):
    """The amount and the number of months for which the list shows costs. Both are empty, or both have a value."""

    use_required_attribute = False

    def __init__(self, typed: Any, *, currency: str | None, months: Collection[int] = ()) -> None:
        """Accept the number format of amounts in `currency`.

        For each offer, the amount is in the currency of the offer.

        The choices for the number of months are the terms in `months`, which the offers allow, and the value in the
        URL.
        """
        super().__init__(typed if {AMOUNT, MONTHS} & typed.keys() else None, label_suffix="")
        number = {"invalid": gettext("Enter a number."), "min_value": gettext("Enter at least 1.")}
        most = gettext("Enter at most %s.")
        texts = dict.fromkeys(filter(None, (*map(str, sorted(months)), typed.get(MONTHS))))
        self.fields[AMOUNT] = AmountField(
            currency, label=gettext("Amount"), required=False, min_value=1, max_value=_AMOUNT_MAX, decimal_places=2,
            error_messages={**number, "max_value": most % f"{_AMOUNT_MAX:,}"},
        )  # fmt: skip
        self.fields[MONTHS] = FigureField(
            label=gettext("Number of months"), required=False, min_value=1, max_value=TERM_MAX_MONTHS,
            decimal_places=0, widget=forms.Select(choices=[("", ""), *((text, text) for text in texts)]),
            error_messages={**number, "max_value": most % TERM_MAX_MONTHS, "max_decimal_places": WHOLE_MONTHS},
        )  # fmt: skip

    def clean(self) -> None:
        empty = [name for name in _ENTER if name not in self.errors and self.cleaned_data.get(name) is None]
        if len(empty) == 1:
            self.add_error(empty[0], str(_ENTER[empty[0]]))

    def loan(self) -> dict[str, Any] | None:
        """Return the amount in units and the number of months, or None if they are empty or invalid."""
        if not self.is_bound or not self.is_valid() or self.cleaned_data[AMOUNT] is None:
            return None
        return {AMOUNT: self.cleaned_data[AMOUNT], MONTHS: int(self.cleaned_data[MONTHS])}


@dataclass(frozen=True)
class Compared:
    """An offer with its costs. If `costs` is empty, `reason` states why."""

    offer: Offer
    costs: list[Row]
    total_cents: int
    reason: str = ""
    # The URL of the form contains the amount and the number of months.
    query: str = ""
    # The nearest amount and number of months that an unavailable offer allows, in words and as a query of the list.
    nearest: tuple[str, str] | None = None

    def with_costs(self, rows: list[Row]) -> list[Row]:
        """Return the costs without the payment row, and the offer's `rows` whose titles the costs don't contain."""
        titles = {title for title, _value in self.costs}
        return [*self.costs[1:], *(row for row in rows if row[0] not in titles)]

    @property
    def currency(self) -> str:
        return self.offer.conventions.currency if self.costs else ""


def compare(offers: Iterable[Offer], loan: Mapping[str, Any] | None, *, today: date) -> list[Compared]:
    """Return the offers with their costs for `loan`. Offers without costs are last.

    Offers in the same currency are together, with the lowest total first.
    """
    if loan is None:
        return [Compared(offer, [], 0) for offer in offers]
    compared = [_with_costs(offer, loan, today=today) for offer in offers]
    return sorted(compared, key=lambda each: (not each.costs, each.currency, each.total_cents))


def _with_costs(offer: Offer, loan: Mapping[str, Any], *, today: date) -> Compared:
    if not offer.term_options_months:
        return Compared(offer, [], 0, gettext("This is a line of credit, without a number of months."))
    if not rates_of(offer):
        return Compared(offer, [], 0, gettext("The lender has not stated an interest rate for this offer."))
    amount_cents = to_minor_units(loan[AMOUNT], offer.conventions.shown_currency)
    is_payable = amount_cents == amount_cents.to_integral_value() and amount_cents <= AMOUNT_MAX_CENTS
    figures = {"amount_cents": int(amount_cents), "term_months": loan[MONTHS]} if is_payable else {}
    quotes = [{**quote, **figures, "fee_cents": 0} for quote in quotes_of(offer, figures, today=today)]
    if not quotes:
        reason = gettext("This offer isn't available for this amount and number of months.")
        return Compared(offer, [], 0, reason, nearest=_nearest(offer, amount_cents, loan[MONTHS]))
    tables = [rows_of(quote, _SHOWN, start=today) for quote in quotes]
    costs = [
        (rows[0][0], _RANGE.join(dict.fromkeys(value for _title, value in rows))) for rows in zip(*tables, strict=True)
    ]
    query = urlencode({AMOUNT: f"{loan[AMOUNT]:f}", MONTHS: loan[MONTHS]})
    return Compared(offer, costs, quotes[0]["total_of_payments_cents"], "", query)


def _nearest(offer: Offer, amount_cents: Decimal, months: int) -> tuple[str, str]:
    """Return the nearest amount in whole units and the nearest number of months within the limits of a loan."""
    currency = offer.conventions.shown_currency
    unit = int(to_minor_units(Decimal(1), currency))
    least = -(-(offer.loan_amount_min_cents or 1) // unit)
    most = min(offer.loan_amount_max_cents or AMOUNT_MAX_CENTS, AMOUNT_MAX_CENTS) // unit
    amount = min(max(int(amount_cents // unit), least), most)
    term = min(offer.term_options_months or (), key=lambda option: (abs(option - months), option))
    figures = {"amount": money(amount * unit, currency), "months": term}
    words = gettext("Show the costs of %(amount)s for %(months)s months") % figures
    return words, urlencode({AMOUNT: amount, MONTHS: term})


def loan_from(query: Mapping[str, str], offer: Offer) -> dict[str, int] | None:
    """Return the amount and the number of months in the URL of an offer's form, as application data.

    Values that the offer's form can't contain are ignored.
    """
    loan, currency = {}, offer.conventions.shown_currency
    units = forms.DecimalField(max_digits=15, decimal_places=exponent_of(currency), min_value=0, required=False)
    months = parse_positive_int64(query.get(MONTHS, ""))
    try:
        amount = units.clean(query.get(AMOUNT, ""))
    except forms.ValidationError:
        amount = None
    if amount and (cents := int(to_minor_units(amount, currency))) <= AMOUNT_MAX_CENTS:
        loan["amount_cents"] = cents
    if months is not None and months in (offer.term_options_months or ()):
        loan["term_months"] = months
    return loan or None
