"""Compute the cost of a loan: level monthly payments, the schedule, and the annual percentage rate."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_noop

from config.core.errors import MissingParameter, ValidationFailed
from credit.core import apr
from credit.core.errors import OfferUnavailable
from credit.core.figures import outside
from credit.core.jurisdictions import Conventions

if TYPE_CHECKING:
    from credit.models.offers import Offer

METHODS = {"us_appendix_j": apr.us_appendix_j, "eu_annex_iii": apr.eu_annex_iii}
# The maximum amount. At this amount, the highest rate, and the longest term, the sum of payments is below 2^53, so
# that every JSON parser represents the sum exactly.
AMOUNT_MAX_CENTS = 10**12
FIRST_PAYMENT_MAX_MONTHS = 12
_NEARLY = Decimal("1e-12")
HUNDREDTH, TENTH = Decimal("0.01"), Decimal("0.1")
# Directive (EU) 2023/2225, Article 13, requires PERSONALIZED. Article 8(1) prescribes the exact wording of WARNING.
PERSONALIZED = gettext_noop("This offer is personalized by automated processing of personal data.")
WARNING = gettext_noop("Caution! Borrowing money costs money")
NO_QUOTE = (
    "The offer is a line of credit, without `term_options_months`: it has no term and no monthly payments. Its "
    "`representative_example` has the annual percentage rate."
)


def half_up(cents: Decimal) -> int:
    """Round half up to whole cents. A fraction that is at most 1e-12 away from a half counts as a half."""
    return int(cents.quantize(_NEARLY).quantize(Decimal(1), ROUND_HALF_UP))


def monthly_payment_cents(
    amount_cents: int, apr_percent: Decimal | float, months: int, *, first_period: Decimal = Decimal(1)
) -> int:
    """Return the level payment that repays an amount in `months` payments, rounded half up.

    The payment is at least one cent. `apr_percent` is the note rate per year. `first_period` is the number of months
    before the first payment. Interest for that period is simple interest.
    """
    with localcontext(apr.EXACT):
        rate = Decimal(str(apr_percent)) / 1200
        if not rate:
            return max(1, half_up(Decimal(amount_cents) / months))
        discount = 1 / (1 + rate)
        owed_at_first = amount_cents * (1 + rate * first_period)
        return max(1, half_up(owed_at_first * rate * discount / (1 - discount**months)))


@dataclass(frozen=True, slots=True)
class Instalment:
    """A payment. The first principal is negative if the interest for a long first period exceeds the payment."""

    number: int
    due_on: date
    payment_cents: int
    interest_cents: int
    principal_cents: int
    balance_cents: int


def amortise(
    amount_cents: int, apr_percent: Decimal, months: int, *, start: date, first_payment_on: date | None = None
) -> list[Instalment]:
    """Return the schedule of monthly payments. The last payment repays the remaining balance.

    The first payment is by default one month after `start`. Payments fall due on the same day of each month, or on the
    last day of a shorter month. Interest is a twelfth of the yearly rate on the balance, rounded half up. If the first
    period is not a month, its length is counted as in Appendix J, with 30 days per month. Payments in whole cents can
    repay a small loan early, so the schedule can be shorter. Every payment after the first covers at least the interest
    of its month.
    """
    first, day = apr.month_of(start) + 1, start.day
    if first_payment_on is not None:
        first, day = apr.month_of(first_payment_on), first_payment_on.day
    dates = [apr.in_month(first + number, day) for number in range(months)]
    with localcontext(apr.EXACT):
        whole_months, odd_days = apr.count_back(start, dates[0], apr.due_day(start, dates) or day)
        periods = whole_months + Decimal(odd_days) / 30
        level = monthly_payment_cents(amount_cents, apr_percent, months, first_period=periods)
        rate = apr_percent / 1200
        owed_at_first = amount_cents + half_up(amount_cents * periods * rate)
        # If the first period is longer than a month, the level payment can be less than one month's interest. The
        # balance would then grow every month.
        while half_up((owed_at_first - level) * rate) > level:
            level += 1
        balance, schedule = amount_cents, []
        for number, due_on in enumerate(dates, start=1):
            interest = half_up(balance * periods * rate)
            payment = balance + interest if number == months else min(level, balance + interest)
            balance += interest - payment
            schedule.append(Instalment(number, due_on, payment, interest, payment - interest, balance))
            if not balance:
                break
            periods = Decimal(1)
    return schedule


def make_quote(
    offer: "Offer",
    *,
    amount_cents: int,
    term_months: int,
    apr_percent: Decimal | None,
    fee_cents: int,
    first_payment_on: date | None,
    method: str | None,
    today: date,
) -> dict[str, Any]:
    """Return the quote for a loan. The amount minus the prepaid fee is paid out today.

    The default of `method` is the offer's APR method.

    Raises OfferUnavailable for a closed offer, and MissingParameter if neither the query nor the offer has a rate.
    Raises ValidationFailed for an EU line of credit, and for an amount, a term, or a rate outside the offer's limits.
    """
    if not offer.is_active:
        raise OfferUnavailable
    conventions = offer.conventions
    if conventions.is_eu and not offer.term_options_months:
        raise ValidationFailed.of_member("term_months", NO_QUOTE)
    if conventions.is_eu and method not in {None, conventions.apr_method}:
        raise ValidationFailed.of_member(
            "method", f"Must be {conventions.apr_method} for an offer with `jurisdiction` `eu`."
        )
    rate = _note_rate(offer, apr_percent)
    for member, _, words in outside(offer.terms(), amount_cents, term_months):
        raise ValidationFailed.of_member(member, words)
    method = method or conventions.apr_method
    figures, schedule = cost_of(
        amount_cents, rate, term_months, fee_cents, first_payment_on, method=method, today=today
    )
    quote = {**figures, "apr_percent": float(figures["apr_percent"]), "schedule": serialize_schedule(schedule)}
    if not conventions.is_eu:
        return quote
    totals = eu_totals(conventions, amount_cents, fee_cents, figures["finance_charge_cents"])
    return {**quote, **totals, "warning": offer.warning, "representative_example": offer.representative_example}


def cost_of(
    amount_cents: int,
    rate_percent: Decimal,
    term_months: int,
    fee_cents: int,
    first_payment_on: date | None,
    *,
    method: str,
    today: date,
    where: str = "",
    rate_member: str = "apr_percent",
) -> tuple[dict[str, Any], list[Instalment]]:
    """Return a dictionary with the figures of a loan that starts today, and the loan's schedule.

    Raises ValidationFailed if the first payment is not within the coming year, or if the rate is out of range. `where`
    is the prefix of field names in errors.
    """
    latest = apr.in_month(apr.month_of(today) + FIRST_PAYMENT_MAX_MONTHS, today.day)
    if first_payment_on is not None and not today < first_payment_on <= latest:
        message = f"Must be after {today} (today, UTC) and not after {latest}."
        raise ValidationFailed.of_member(f"{where}first_payment_on", message)
    schedule = amortise(amount_cents, rate_percent, term_months, start=today, first_payment_on=first_payment_on)
    financed, total = amount_cents - fee_cents, sum(row.payment_cents for row in schedule)
    try:
        rate = METHODS[method](financed, [(row.due_on, row.payment_cents) for row in schedule], start=today)
    except apr.RateOutOfRange as error:
        message = f"The annual percentage rate would exceed {apr.APR_MAX_PERCENT} %. Send a lower fee or rate."
        raise ValidationFailed.of_member(f"{where}{'fee_cents' if fee_cents else rate_member}", message) from error
    figures = {
        "payment_cents": schedule[0].payment_cents,
        "final_payment_cents": schedule[-1].payment_cents,
        "total_of_payments_cents": total,
        "finance_charge_cents": total - financed,
        "amount_financed_cents": financed,
        "apr_percent": rate.quantize(apr.STEP, ROUND_HALF_UP),
        "method": method,
    }
    return figures, schedule


def shown_apr(terms: Mapping[str, Any], *, start: date | str) -> Decimal:
    """Round a loan's annual percentage rate for display, half up to two decimals, or to one decimal under EU law.

    `terms` is a result of `LoanTerms.to_dict` for a loan that starts on `start`.
    """
    rate, step = Decimal(str(terms["apr_percent"])), TENTH if terms.get("currency") else HUNDREDTH
    if rate % step == step / 2:
        # The stored rate is already rounded. At an exact half, only the exact rate shows the direction of rounding.
        day, first = date.fromisoformat(str(start)), terms.get("first_payment_on")
        first = None if first is None else date.fromisoformat(str(first))
        note_rate = Decimal(str(terms["rate_percent"]))
        schedule = amortise(terms["amount_cents"], note_rate, terms["term_months"], start=day, first_payment_on=first)
        payments = [(row.due_on, row.payment_cents) for row in schedule]
        method = METHODS[terms.get("method") or "us_appendix_j"]
        rate = method(terms["amount_cents"] - terms["fee_cents"], payments, start=day)
    return rate.quantize(step, ROUND_HALF_UP)


def eu_totals(conventions: Conventions, amount_cents: int, fee_cents: int, cost_cents: int | None) -> dict[str, Any]:
    """Return the currency and the figures of Directive (EU) 2023/2225, Art. 3.

    If `cost_cents` is None, the total cost and the total payable are None.
    """
    credit = amount_cents - (fee_cents if conventions.is_fee_kept_back else 0)
    return {
        "currency": conventions.currency,
        "fee_financed": conventions.is_fee_kept_back,
        "total_credit_cents": credit,
        "total_cost_cents": cost_cents,
        "total_payable_cents": None if cost_cents is None else credit + cost_cents,
    }


def serialize_schedule(schedule: list[Instalment]) -> list[dict[str, Any]]:
    """Convert the schedule to the JSON form that is hashed and displayed."""
    return [{**asdict(row), "due_on": row.due_on.isoformat()} for row in schedule]


def _note_rate(offer: "Offer", requested: Decimal | None) -> Decimal:
    """Return the requested rate, or the offer's lowest rate.

    Raises MissingParameter if neither the request nor the offer has a rate. Raises ValidationFailed for a rate outside
    the offer's limits.
    """
    bounds = (offer.apr_min_percent, offer.apr_max_percent)
    low, high = (None if percent is None else Decimal(str(percent)) for percent in bounds)
    rate = next((percent for percent in (requested, low, high) if percent is not None), None)
    if rate is None:
        raise MissingParameter("The query parameter `apr_percent` is required: this offer has no rate.")
    if low is not None and rate < low:
        raise ValidationFailed.of_member("apr_percent", f"The rates of this offer begin at {low}%.")
    if high is not None and rate > high:
        raise ValidationFailed.of_member("apr_percent", f"The rates of this offer end at {high}%.")
    return rate
