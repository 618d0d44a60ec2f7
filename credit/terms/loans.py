"""Parse and complete the loan of a decision, check it against the pinned offer, and compute its cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from hashlib import sha256
from typing import Any

from django.conf import settings

from config.core.errors import ValidationFailed
from config.core.json_text import canonical_json, day_of
from config.core.lifecycle import StatusHistory, Transition
from credit.core import apr
from credit.core.card import APPROVE, Price, number_of
from credit.core.errors import AprAboveCap, TermsOutsideOffer, TermsRequired
from credit.core.figures import Bound, Figures, outside
from credit.core.jurisdictions import Conventions
from credit.core.lines import cost_of_line, is_overdraft
from credit.core.quotes import AMOUNT_MAX_CENTS, Instalment, amortise, cost_of, serialize_schedule
from credit.models import Application
from credit.models.terms import LoanTerms, loan_to_dict, number

MEMBERS = ("amount_cents", "rate_percent", "term_months", "fee_cents", "first_payment_on")


@dataclass(frozen=True, slots=True)
class Loan:
    """The lender's terms. `rate_percent` is the note rate per year. A line of credit has a limit but no term."""

    amount_cents: int
    rate_percent: Decimal
    term_months: int | None
    fee_cents: int = 0
    first_payment_on: date | None = None


def loan_of(application: Any, terms: Any, *, where: str = "metadata.terms") -> Loan | None:
    """Parse the loan of an approval. Missing values come from the application and the offer.

    Without `terms`, returns None under REVIEW_POLICY=open and for an unlisted offer.
    Raises TermsRequired, ValidationFailed, or TermsOutsideOffer. `compute` checks the cost of the loan against the
    offer.
    """
    offer: Mapping[str, Any] | None = application.offer_snapshot
    if terms is None and (offer is None or settings.REVIEW_POLICY == "open"):
        return None
    requested = _read({} if terms is None else terms, where)
    applied, limits = Figures(application.application_data), offer or {}
    # An unlisted offer is a loan. A listed offer without `term_options_months` is a line of credit.
    has_term = bool(limits.get("term_options_months")) if offer is not None else True
    amount = requested["amount_cents"] or applied.amount_cents
    term = requested["term_months"] or (applied.term_months if has_term else None)
    rate = lowest_rate(limits) if requested["rate_percent"] is None else requested["rate_percent"]
    is_known = {
        "amount_cents": 0 < (amount or 0) <= AMOUNT_MAX_CENTS,
        "rate_percent": rate is not None,
        "term_months": (term or 0) <= apr.TERM_MAX_MONTHS and bool(term or offer is None or not has_term),
    }
    if amount is None or rate is None or not all(is_known.values()):
        missing = [f"{where}.{name}" for name, has_value in is_known.items() if not has_value]
        words = "Required, because neither the application nor the offer contains this value."
        raise TermsRequired(details=[{"field": name, "message": words} for name in missing])
    loan = Loan(amount, rate, term or None, requested["fee_cents"] or 0, requested["first_payment_on"])
    if loan.fee_cents >= loan.amount_cents:
        raise ValidationFailed.of_member(f"{where}.fee_cents", "Must be less than the amount of the loan.")
    if loan.term_months is None and loan.first_payment_on is not None:
        raise ValidationFailed.of_member(f"{where}.first_payment_on", "A line of credit has no first payment.")
    _refuse(_outside(loan, limits, has_term=has_term), where)
    return loan


def compute(
    application: Any,
    loan: Loan | LoanTerms,
    *,
    kind: str,
    now: datetime,
    where: str = "metadata.terms",
    bounded: bool = True,
) -> LoanTerms:
    """Compute the unsaved terms and the cost of `loan` for a start today, even if the loan started earlier.

    Raises ValidationFailed if the first payment is not within the coming year, or if the rate is out of range. With
    `bounded`, raises TermsOutsideOffer or AprAboveCap if the annual percentage rate exceeds the offer's maximum.
    """
    today = now.date()
    about = {**loan_to_dict(loan), "rate_percent": loan.rate_percent, "first_payment_on": loan.first_payment_on}
    schedule: list[Instalment] = []  # a line of credit has no payments
    conventions = Conventions.of(application.offer_snapshot)
    if conventions.is_eu:
        about["method"] = conventions.apr_method
    if loan.term_months is not None:
        figures, schedule = cost_of(
            loan.amount_cents, loan.rate_percent, loan.term_months, loan.fee_cents, loan.first_payment_on,
            method=conventions.apr_method, today=today, where=f"{where}.", rate_member="rate_percent",
        )  # fmt: skip
        about |= {**figures, "schedule_sha256": sha256(canonical_json(serialize_schedule(schedule))).hexdigest()}
    terms = LoanTerms(application=application, kind=kind, as_of=today, made_at=now, **about)
    offer: Mapping[str, Any] = application.offer_snapshot or {}
    rate = terms.apr_percent
    if conventions.is_eu and loan.term_months is None:
        rate = _rate_of_line(loan, offer, today=today, where=where)
    highest, cap = (_percent(offer.get(name)) if bounded else None for name in ("apr_max_percent", "apr_cap"))
    if cap is not None and rate is not None and rate > cap:
        raise AprAboveCap(f"The annual percentage rate is {rate}%, above the highest legal rate (`apr_cap`): {cap}%.")
    # The highest rate of an EU offer limits only the borrowing rate.
    if highest is not None and not conventions.is_eu and _is_dearer(terms, schedule, highest):
        words = f"The annual percentage rate would be {terms.apr_percent}%, above the offer's maximum of {highest}%."
        _refuse([("fee_cents" if loan.fee_cents else "first_payment_on", number(highest), words)], where)
    terms.terms_sha256 = sha256(canonical_json(terms.to_dict())).hexdigest()
    return terms


def _rate_of_line(loan: Loan | LoanTerms, offer: Mapping[str, Any], *, today: date, where: str) -> Decimal:
    """Return the assumed APR of an EU line of credit. Raises ValidationFailed if the APR is out of range."""
    try:
        rate, _ = cost_of_line(
            loan.amount_cents, loan.rate_percent, start=today, fee=loan.fee_cents, is_overdraft=is_overdraft(offer)
        )
    except apr.RateOutOfRange as error:
        message = f"The annual percentage rate would exceed {apr.APR_MAX_PERCENT} %. Send a lower fee or rate."
        raise ValidationFailed.of_member(f"{where}.fee_cents", message) from error
    return rate.quantize(apr.STEP, ROUND_HALF_UP)


def name_terms(application: Any, transition: Transition) -> dict[str, Any]:
    """Return the column `loan_terms` of an approval.

    Its value is the unsaved terms, or None if the approval has no loan.

    An approval that completes a counteroffer has the terms of the counteroffer. Raises the errors of `loan_of` and
    `compute`.
    """
    if transition.completes is not None:
        return {}
    metadata = transition.metadata
    loan = loan_of(application, metadata.get("terms") if isinstance(metadata, dict) else None)
    kind = LoanTerms.APPROVAL
    return {"loan_terms": None if loan is None else compute(application, loan, kind=kind, now=transition.now)}


def save_named_terms(application: Any, _row: StatusHistory, transition: Transition) -> None:
    """Save the unsaved terms of an approval."""
    if transition.completes is None and application.loan_terms is not None:
        application.loan_terms.save(force_insert=True)


def _is_dearer(terms: LoanTerms, schedule: list[Instalment], highest: Decimal) -> bool:
    """Return whether the annual percentage rate is above the highest rate.

    Without a fee, the annual percentage rate equals the note rate, except for effects of an odd first period and of
    rounding payments to cents. Differences that rounding can cause (less than a cent per payment) are ignored.
    """
    if terms.apr_percent is None or terms.apr_percent <= highest:
        return False
    if terms.fee_cents:
        return True
    less = [(row.due_on, row.payment_cents - 1) for row in schedule]
    try:
        return apr.us_appendix_j(terms.amount_cents, less, start=terms.as_of) > highest
    except apr.RateOutOfRange:
        return False  # the payments are less than the loan


def starts_by(loan: Loan | LoanTerms) -> datetime | None:
    """Return the start (UTC) of the day of a fixed first payment, or None. A loan must start before that time."""
    first = loan.first_payment_on
    return None if first is None else datetime.combine(first, time(), UTC)


def schedule_of(terms: LoanTerms) -> list[Instalment]:
    """Return the payments of a loan that starts on `as_of`. A line of credit has none."""
    if terms.term_months is None:
        return []
    first = terms.first_payment_on
    return amortise(
        terms.amount_cents, terms.rate_percent, terms.term_months, start=terms.as_of, first_payment_on=first
    )


def _read(terms: Any, where: str) -> dict[str, Any]:
    """Parse the fields of the terms. Missing fields are None. Raises ValidationFailed."""
    if not isinstance(terms, dict):
        raise ValidationFailed.of_member(where, "Must be a JSON object.")
    if unknown := sorted(set(terms) - set(MEMBERS)):
        message = f"Unknown field {unknown[0][:60]!r}. Known fields: {', '.join(MEMBERS)}."
        raise ValidationFailed.of_member(where, message)
    read = {name: terms.get(name) for name in MEMBERS}
    limits = {"amount_cents": (1, AMOUNT_MAX_CENTS), "term_months": (1, apr.TERM_MAX_MONTHS), "fee_cents": (0, None)}
    for name, (least, most) in limits.items():
        value = read[name]
        if value is not None and (type(value) is not int or value < least or (most is not None and value > most)):
            words = f"from {least} on" if most is None else f"from {least} to {most}"
            raise ValidationFailed.of_member(f"{where}.{name}", f"Must be a whole number {words}.")
    read["rate_percent"] = _rate(read["rate_percent"], where)
    read["first_payment_on"] = _day(read["first_payment_on"], where)
    return read


def _rate(value: Any, where: str) -> Decimal | None:
    rate = number_of(value)
    if value is not None and (rate is None or not 0 <= rate <= apr.RATE_MAX_PERCENT or rate != round(rate, apr.PLACES)):
        message = (
            f"Must be a number from 0 to {apr.RATE_MAX_PERCENT}, with at most {apr.PLACES} digits after the point."
        )
        raise ValidationFailed.of_member(f"{where}.rate_percent", message)
    return rate


def _day(value: Any, where: str) -> date | None:
    if value is not None and (day := day_of(value)) is None:
        raise ValidationFailed.of_member(f"{where}.first_payment_on", "Must be a date such as 2026-01-31.")
    return None if value is None else day


def _percent(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def lowest_rate(offer: Mapping[str, Any]) -> Decimal | None:
    """Return the offer's lowest or only rate, rounded up to PLACES decimals, or None if the offer has no rate."""
    rates = map(_percent, (offer.get("apr_min_percent"), offer.get("apr_max_percent")))
    lowest = next((rate for rate in rates if rate is not None), None)
    return None if lowest is None else lowest.quantize(apr.STEP, ROUND_CEILING)


def _outside(loan: Loan, offer: Mapping[str, Any], *, has_term: bool) -> Iterator[Bound]:
    yield from outside(offer, loan.amount_cents, loan.term_months)
    if not has_term and loan.term_months is not None:
        yield "term_months", None, "The offer is a line of credit, which has no term."
    lowest, highest = lowest_rate({**offer, "apr_max_percent": None}), _percent(offer.get("apr_max_percent"))
    if lowest is not None and loan.rate_percent < lowest:
        yield "rate_percent", number(lowest), f"The rates of the offer begin at {lowest.normalize():f}%."
    if highest is not None and loan.rate_percent > max(highest, lowest or highest):
        yield "rate_percent", number(highest), f"The rates of the offer end at {highest}%."


def _refuse(broken: Any, where: str) -> None:
    """Raise TermsOutsideOffer with all violated limits, if there are any."""
    details = [{"field": f"{where}.{name}", "message": words, "bound": limit} for name, limit, words in broken]
    if details:
        raise TermsOutsideOffer(details[0]["message"], details=details)


def price_of(application: Application) -> Price | None:
    """Return the price of the scorecard for the score's total.

    Return None if the score does not approve, or if the scorecard has no prices.
    """
    score = application.decision_score
    return score.version.card.price_of(score.total) if score is not None and score.outcome == APPROVE else None


def requested_terms(application: Application) -> dict[str, Any]:
    """Return the requested loan at the score's price, or at the offer's lowest rate. Unknown figures are None."""
    applied, offer = Figures(application.application_data), application.offer_snapshot or {}
    price = price_of(application)
    rate = lowest_rate(offer) if price is None else price.rate_percent
    term = applied.term_months if offer.get("term_options_months") else None
    return {"amount_cents": applied.amount_cents, "rate_percent": number(rate), "term_months": term}


def proposed_terms(application: Application) -> dict[str, Any]:
    """Return the terms to propose: the requested loan, with at most the maximum amount of the score's price."""
    terms, price = requested_terms(application), price_of(application)
    most = None if price is None else price.amount_max_cents
    return terms if most is None else {**terms, "amount_cents": min(terms["amount_cents"] or 0, most) or None}


def automatic_terms(application: Application) -> dict[str, Any] | None:
    """Return the terms of an automatic approval, or None if a reviewer must decide.

    A reviewer must decide if the requested amount is above the maximum amount of the score's price. Without a price, a
    reviewer must decide unless the offer has a single rate.
    """
    price, amount = price_of(application), Figures(application.application_data).amount_cents
    if price is not None:
        is_too_much = amount is not None and price.amount_max_cents is not None and amount > price.amount_max_cents
        return None if is_too_much else {"rate_percent": number(price.rate_percent)}
    offer = application.offer_snapshot or {}
    lowest, highest = offer.get("apr_min_percent"), offer.get("apr_max_percent")
    return {} if lowest is not None and lowest == highest else None
