"""Create, store, and require the European information form (Directive (EU) 2023/2225, Art. 10).

A form belongs to the terms of a loan, so changed terms need another form. `provided_at` is the time when the applicant
first received the form.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from config.core.currencies import amount_in_words, number_in_words
from config.core.errors import NotFound, ValidationFailed
from credit.core import deadlines
from credit.core.annex_i import KEY_PARTS, PARTS, ROWS, TITLE
from credit.core.applicants import language_of
from credit.core.apr import APR_MAX_PERCENT, RateOutOfRange
from credit.core.early_repayment import early_repayment
from credit.core.errors import PrecontractRequired
from credit.core.eu_credit import applies, follows_directive, minor_units_of_euros
from credit.core.figures import date_in_words, outside
from credit.core.jurisdictions import EU
from credit.core.lines import CEILING_ASSUMED_EUR, cost_of_line, costs_of_line, is_overdraft
from credit.core.loan_words import assumptions_in_words, duration_in_words, payments_in_words
from credit.core.quotes import TENTH, Instalment, cost_of, eu_totals, serialize_schedule, shown_apr
from credit.core.rights import APPROVAL, ASSISTED, DUTIES
from credit.core.translations import in_language
from credit.models import Application, LoanTerms, Offer, Precontract, Provider

# Art. 10(1) requires a reminder if the form was provided later than this before the acceptance.
REMIND_WITHIN = timedelta(hours=24)

_PERSONALIZED = gettext_noop("Yes. The price is personalized by automated processing.")
# The form states these rights before the agreement.
_RIGHTS = [right.text for right in DUTIES[EU, ASSISTED, APPROVAL].after if "18(8)" in right.law]

LONG_KEY_LENGTH = 3_000  # longer key information fits on two pages only in smaller print


@dataclass(frozen=True)
class Form:
    """The European information form of Annex I. `terms` is the terms of a loan with their figures.

    `rows` is the rows of the form.

    `offer` is the terms of the offer, whose texts the form contains.
    """

    language: str
    terms: Mapping[str, Any]
    terms_sha256: str | None
    rows: list[dict[str, Any]]
    schedule: list[Instalment]
    offer: Mapping[str, Any]

    @property
    def html(self) -> str:
        currency = self.terms["currency"]
        with translation.override(self.language):
            parts = [(gettext(PARTS[part]), [row for row in self.rows if row["part"] == part]) for part in PARTS]
            amounts = [(row, row.payment_cents, row.interest_cents, row.principal_cents) for row in self.schedule]
            context = {
                "language": self.language,
                "offer": self.offer,
                "title": gettext(TITLE),
                "is_long": sum(len(row["value"]) for row in self.rows if row["part"] in KEY_PARTS) > LONG_KEY_LENGTH,
                "key": parts[: len(KEY_PARTS)],
                "additional": parts[len(KEY_PARTS) :],
                "schedule": [
                    (row.number, row.due_on, *(amount_in_words(cents, currency) for cents in cents_of_row))
                    for row, *cents_of_row in amounts
                ],
            }
            return render_to_string("credit/precontract.html", context)


def form_of(
    offer: Mapping[str, Any],
    lender: Provider | None,
    terms: Mapping[str, Any],
    schedule: list[Instalment],
    *,
    language: str,
    today: date,
    terms_sha256: str | None = None,
    valid_until: datetime | None = None,
    zone: str = "UTC",
    is_scored: bool = False,
) -> Form:
    """Return the form for a loan of an offer.

    `terms` is a result of `LoanTerms.to_dict`. `zone` is the time zone in which `valid_until` is displayed. With
    `is_scored`, the form has the statement of Art. 13.
    """
    with translation.override(language):
        offer = in_language(offer)
        values = {
            **_texts(offer),
            **_figures(offer, terms, schedule, today=today),
            **_contact(lender),
            **_standing(offer, terms, schedule, today=today, is_scored=is_scored),
            "validity": _validity(offer, today=today, valid_until=valid_until, zone=zone),
        }
        empty = gettext("Does not apply.")
        rows = [
            {"number": number, "part": row.part, "title": gettext(row.title), "value": values.get(row.name) or empty}
            for number, row in enumerate(ROWS, start=1)
        ]
    return Form(language, terms, terms_sha256, rows, schedule, offer)


def _texts(offer: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the lender's texts. Texts that do not apply are None."""
    texts: Mapping[str, str] = offer.get("texts") or {}
    return {name: text if applies(text) else None for name, text in texts.items()}


def _percent(value: Any, step: Decimal | None = None) -> str:
    exact = Decimal(str(value))
    return f"{number_in_words(exact if step is None else exact.quantize(step, ROUND_HALF_UP))} %"


def _figures(
    offer: Mapping[str, Any], terms: Mapping[str, Any], schedule: list[Instalment], *, today: date
) -> dict[str, Any]:
    currency = terms["currency"]
    totals, apr = _totals(offer, terms, today=today)
    credit, payable = (
        amount_in_words(totals[name], currency) for name in ("total_credit_cents", "total_payable_cents")
    )
    rate = gettext("%s a year, fixed") % _percent(terms["rate_percent"])
    fee = terms["fee_cents"]
    instalments = gettext("As stated in the agreement, depending on the amounts that you draw.")
    if schedule:
        instalments = payments_in_words(schedule, currency)
    kept_back = gettext("The lender deducts the fee of %s from the payout.")
    apart = gettext("You pay the fee of %s separately, at payout.")
    fee_text = (kept_back if terms["fee_financed"] else apart) % amount_in_words(fee, currency) if fee else None
    example = {"credit": credit, "rate": rate, "payable": payable, "apr": _percent(apr, TENTH)}
    assumptions = gettext("The credit is drawn down at once and in full, and every payment is made on its day.")
    if not schedule:
        assumptions = assumptions_in_words(terms, offer)
    texts = _texts(offer)
    return {
        "total_credit": f"{credit}\n" + gettext("The ceiling or the total sums made available under the agreement."),
        "duration": duration_in_words(terms["term_months"], schedule, start=today),
        "rate": "\n".join(filter(None, (rate, texts.get("rate_periods")))),
        "apr": f"{_percent(apr, TENTH)}\n"
        + gettext("The total cost of the credit as a yearly percentage. It helps you to compare offers."),
        "total_payable": f"{payable}\n"
        + gettext("The total amount of credit, and interest and all other costs of the credit."),
        "instalments": instalments,
        "interest_and_charges": texts.get("interest_and_charges")
        or " ".join(
            filter(None, (gettext("Each payment contains the interest since the previous payment."), fee_text))
        ),
        "example": gettext(
            "Total amount of credit %(credit)s, %(rate)s, total amount payable %(payable)s, APR %(apr)s."
        )
        % example
        + f" {assumptions}",
        "charges": "\n".join(filter(None, (fee_text, texts.get("other_charges")))),
        "rate_index": texts.get("rate_index") or gettext("Fixed for the whole term."),
    }


def _totals(offer: Mapping[str, Any], terms: Mapping[str, Any], *, today: date) -> tuple[Mapping[str, Any], Any]:
    """Return the figures of Article 3 and the APR. For a line of credit, the assumptions of Annex III apply."""
    if terms["total_cost_cents"] is not None:
        return terms, shown_apr(terms, start=today)
    try:
        costs = costs_of_line(terms, offer, start=today)
    except RateOutOfRange as error:
        message = f"The annual percentage rate would exceed {APR_MAX_PERCENT} %. Send a larger amount."
        raise ValidationFailed.of_member("amount_cents", message) from error
    return {**terms, **costs}, costs["apr_percent"]


def _contact(lender: Provider | None) -> dict[str, Any]:
    if lender is None:
        return {}
    supervisor, redress = lender.supervisor or {}, lender.redress or {}
    return {
        "creditor": lender.name,
        "address": lender.address,
        "phone": lender.phone,
        "email": lender.email,
        "register_number": lender.register_number,
        "supervisor": "\n".join(supervisor.values()),
        "redress": "\n".join(redress.values()),
        "exercise": gettext("Write to %s within 14 calendar days. If you don't, the agreement stays in force.")
        % (lender.email or lender.address),
    }


def _standing(
    offer: Mapping[str, Any], terms: Mapping[str, Any], schedule: list[Instalment], *, today: date, is_scored: bool
) -> dict[str, Any]:
    """Return the rows about warnings, rights, and other information that is independent of the loan's figures."""
    texts = _texts(offer)
    early = early_repayment(schedule, start=today, fee=terms["fee_cents"])
    compensation = gettext(
        "At most 1 % of the amount repaid early if more than a year is left, otherwise at most 0.5 %, and never more "
        "than the interest that was left."
    )
    if early is not None:
        amounts = {"day": date_in_words(early.on), "total": amount_in_words(early.total, terms["currency"])}
        compensation += " " + gettext("Example: full repayment on %(day)s costs at most %(total)s.") % amounts
    return {
        "title": gettext(TITLE),
        "see_intermediary": texts.get("intermediary") and gettext("See “Credit intermediary: identity”."),
        "warning": gettext("Missing or late payments can have severe consequences for you, and make it harder to "
                           "obtain credit."),
        "withdrawal": gettext("Yes. You may withdraw from the agreement within 14 calendar days, without a reason."),
        "repayment_right": gettext("Yes. You may repay the credit early, fully or partially, at any time."),
        "credit_type": texts.get("credit_type") or (gettext("Loan") if schedule else gettext("Line of credit")),
        "insurance": texts.get("insurance") or texts.get("ancillary"),
        "personalized": is_scored and "\n".join(map(gettext, (_PERSONALIZED, *_RIGHTS))),
        "compensation": texts.get("early_repayment") and compensation,
        "database": gettext("If a database is the reason for a rejection, the lender tells you the result at once and "
                            "free of charge."),
        "draft": gettext("On request you get a copy of the draft agreement, free of charge."),
        "schedule": schedule and _payment_days(terms, today=today),
        "layout": gettext("The key information comes first. Sections 1 to 4 and the payments follow it."),
    }  # fmt: skip


def _payment_days(terms: Mapping[str, Any], *, today: date) -> str:
    words = gettext("The payments are listed at the end of this form.")
    if terms.get("first_payment_on") is not None:
        return words
    moved = gettext("The dates apply to a loan that starts on %(start)s. If the loan starts later, the dates change.")
    return f"{words} {moved % {'start': date_in_words(today)}}"


def _validity(offer: Mapping[str, Any], *, today: date, valid_until: datetime | None, zone: str) -> str:
    if (validity := _texts(offer).get("validity")) is not None:
        return validity
    if valid_until is None:
        return gettext("From %(start)s.") % {"start": date_in_words(today)}
    facts = {"start": date_in_words(today), "end": deadlines.in_words(valid_until, zone)}
    return gettext("From %(start)s until %(end)s.") % facts


def form_of_offer(
    offer: Offer, *, language: str | None, today: date, amount_cents: int | None = None, term_months: int | None = None
) -> Form:
    """Return the form for an offer's representative example, or for another amount and duration. Raises NotFound.

    The form of a line of credit uses the example's rate and fee. Without an amount, the form uses the assumed ceiling,
    or the example's amount if no ceiling can be assumed.
    """
    terms = offer.terms()
    if not follows_directive(terms) or not terms["example"]:
        raise NotFound("The offer has no European information form: Directive (EU) 2023/2225 does not apply to it.")
    example, is_line = terms["example"], not terms["term_options_months"]
    if is_line and term_months is not None:
        raise ValidationFailed.of_member("term_months", "Must be omitted: the offer is a line of credit.")
    for member, _, words in outside(terms, amount_cents, term_months):
        raise ValidationFailed.of_member(member, words)
    amount = amount_cents or (None if is_line and _is_ceiling_assumed(terms, today=today) else example["amount_cents"])
    loan = {
        "first_payment_on": None,
        "amount_cents": amount,
        "rate_percent": example["rate_percent"],
        "term_months": None if is_line else term_months or example["months"],
        "fee_cents": example["fee_cents"] if amount is None else min(example["fee_cents"], amount - 1),
    }
    costs, schedule = _costs_of_line(offer, loan) if is_line else _costs(offer, loan, today=today)
    lender, is_scored = offer.provider, offer.personalized is not None
    return form_of(terms, lender, costs, schedule, language=language or "en", today=today, is_scored=is_scored)


def _assumed_ceiling(currency: str) -> int | None:
    return minor_units_of_euros(CEILING_ASSUMED_EUR, currency)


def _is_ceiling_assumed(terms: Mapping[str, Any], *, today: date) -> bool:
    """Return whether the ceiling of Annex III, part II (h), can be assumed.

    The assumption requires an exchange rate, and a fee below the assumed ceiling.
    """
    example, ceiling = terms["example"], _assumed_ceiling(terms["currency"])
    if ceiling is None or example["fee_cents"] >= ceiling:
        return False
    rate, fee = Decimal(str(example["rate_percent"])), example["fee_cents"]
    try:
        cost_of_line(ceiling, rate, start=today, fee=fee, is_overdraft=is_overdraft(terms))
    except RateOutOfRange:
        return False
    return True


def _costs(offer: Offer, loan: Mapping[str, Any], *, today: date) -> tuple[dict[str, Any], list[Instalment]]:
    conventions = offer.conventions
    figures, schedule = cost_of(
        loan["amount_cents"], Decimal(str(loan["rate_percent"])), loan["term_months"], loan["fee_cents"], None,
        method=conventions.apr_method, today=today,
    )  # fmt: skip
    totals = eu_totals(conventions, loan["amount_cents"], loan["fee_cents"], figures["finance_charge_cents"])
    return {**loan, **figures, "apr_percent": float(figures["apr_percent"]), **totals}, schedule


def _costs_of_line(offer: Offer, loan: Mapping[str, Any]) -> tuple[dict[str, Any], list[Instalment]]:
    """Return the terms of a line of credit. The default ceiling is the ceiling of Annex III, part II (h)."""
    conventions = offer.conventions
    ceiling: Any = loan["amount_cents"] or _assumed_ceiling(conventions.currency)
    totals = eu_totals(conventions, ceiling, loan["fee_cents"], None)
    return {**loan, "apr_percent": None, "method": conventions.apr_method, **totals}, []


def form_of_acceptable(
    application: Application, acceptable: Any, *, language: str | None, now: datetime
) -> Precontract:
    """Return the stored form of `Acceptable` terms, by default in the applicant's language. Create it if necessary.

    Raises NotFound if there are no loan terms, the directive does not apply, or the form was erased.
    """
    if acceptable.as_of is None or not follows_directive(application.offer_snapshot):
        raise NotFound("There is no European information form: no terms of EU credit are approved.")
    preferred = language_of(application.applicants)
    language = language or (preferred if preferred in dict(settings.LANGUAGES) else "en")
    terms_sha256, schedule = acceptable.terms_sha256, acceptable.schedule or []
    kept = Precontract.objects.filter(application=application, terms_sha256=terms_sha256, language=language).first()
    if kept is not None:
        if kept.html is None:
            raise NotFound("The European information form was erased.")
        return kept
    lender = application.provider_owner(str(application.provider_id), application.created_at).first()
    form = form_of(
        application.offer_snapshot or {}, lender, acceptable.terms, schedule, language=language,
        today=date.fromisoformat(acceptable.as_of), terms_sha256=terms_sha256, valid_until=acceptable.expires_at,
        zone=deadlines.zone_of(application.applicants), is_scored=application.decision_score is not None,
    )  # fmt: skip
    html, content = form.html, json.dumps({"rows": form.rows, "schedule": serialize_schedule(form.schedule)})
    return Precontract.objects.get_or_create(
        application=application, terms_sha256=terms_sha256, language=language,
        defaults={"html": html, "sha256": sha256(html.encode()).hexdigest(), "content": content, "made_at": now},
    )[0]  # fmt: skip


def require_form(application: Application, terms: LoanTerms | None, form_sha256: str | None) -> Precontract | None:
    """Return the form of the accepted terms. Raises PrecontractRequired if `form_sha256` is not the form's hash."""
    if terms is None or not follows_directive(application.offer_snapshot):
        return None
    forms = Precontract.objects.filter(application=application, terms_sha256=terms.terms_sha256)
    form = forms.filter(sha256=form_sha256, provided_at__isnull=False).first() if form_sha256 else None
    if form is None:
        path = f"/v1/applications/{application.pk}/precontract"
        raise PrecontractRequired(details={"precontract": path})
    return form


def was_provided_late(form: Precontract, *, now: datetime) -> bool:
    """Return whether the applicant first received the form less than REMIND_WITHIN before the acceptance."""
    forms = Precontract.objects.filter(application=form.application_id, terms_sha256=form.terms_sha256)
    return not forms.filter(provided_at__lte=now - REMIND_WITHIN).exists()
