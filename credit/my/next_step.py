"""The section about the next step of an application: what happens, who acts, by when, and the next payment."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from credit.core import deadlines
from credit.core import machine as states
from credit.core.figures import date_in_words, money
from credit.core.standing import LENDER, YOU, Standing
from credit.models import Application, Clock
from credit.terms.acceptance import Acceptable

_NOTICE_OF_OTHER = _(
    "The lender has to send the other applicant a notice about their credit report. "
    "You can accept once it is delivered."
)
_IS_COMPLETE = _("Check the application, then send it to the lender.")
_DECIDES_AGAIN = _("The day of the first payment has passed. The lender must decide again.")


def describe(
    application: Application,
    standing: Standing,
    terms: Acceptable,
    *,
    pricing: Any,
    page: dict[str, Any],
    now: datetime,
) -> list[tuple[str, str]]:
    """Return the (name, value) rows of the section.

    `pricing` is the pricing notice that delays the acceptance, or None. `page` has the deadlines of other sections, and
    the missing data of a draft.
    """
    standing = _standing_now(application, standing, terms, pricing=pricing, page=page)
    rows = [
        (gettext("Next step"), standing.next),
        (gettext("Who acts"), standing.who),
        (gettext("Deadline"), _deadline(application, standing, terms, page, now)),
        _next_payment(application, terms, now),
    ]
    return [(name, str(value)) for name, value in rows if value]


def _standing_now(
    application: Application, standing: Standing, terms: Acceptable, *, pricing: Any, page: dict[str, Any]
) -> Standing:
    """Return the texts of the status. Missing data, a blocked acceptance, or a reconsideration changes them."""
    if application.status == states.DRAFT and not page["due"]:
        return replace(standing, next=_IS_COMPLETE)
    if application.status == states.REJECTED and page["may_ask_again"]:
        return replace(standing, who=YOU)
    if application.status != states.APPROVED or application.accepted_at is not None:
        return standing
    if not terms.acceptable:
        return replace(standing, next=_DECIDES_AGAIN, who=LENDER)
    is_of_other = pricing is not None and pricing["applicant"] != 1
    return replace(standing, next=_NOTICE_OF_OTHER, who=LENDER) if is_of_other else standing


def _deadline(
    application: Application, standing: Standing, terms: Acceptable, page: dict[str, Any], now: datetime
) -> str:
    """Return the deadline of the next step in words, or "" if it has none."""
    zone = timezone.get_current_timezone_name()
    if page["asked_again"] is not None and standing.who is not YOU:
        return _until(page["asked_again"].due_at, zone, now)
    if application.accepted_at is not None:
        declared = application.contract_withdrawal if application.withdrawn_from_at else None
        return gettext("The lender sets the day.") if declared is None else date_in_words(declared.repay_by)
    if application.status == states.REJECTED:
        return gettext("The request has no deadline.") if standing.who is YOU else ""
    if terms.acceptable and terms.expires_at is not None:
        return deadlines.in_words(terms.expires_at, zone)
    if standing.who is LENDER and application.status in states.IN_REVIEW:
        due_at = Clock.running(application.pk).order_by("due_at").values_list("due_at", flat=True).first()
        usual = gettext("Usually within %s days after the application was sent") % Clock.DAYS[Clock.APPLICATION]
        return usual if due_at is None else _until(due_at, zone, now)
    return str(page["due_by"])


def _until(moment: datetime, zone: str, now: datetime) -> str:
    words = deadlines.in_words(moment, zone)
    return words if moment > now else gettext("%s. It has passed: contact the lender.") % words


def _next_payment(application: Application, terms: Acceptable, now: datetime) -> tuple[str, str]:
    """Return the row of the first or next payment of an accepted loan. Its value is empty if there is none."""
    today, schedule = timezone.localdate(now), terms.schedule or []
    ahead = [payment for payment in schedule if payment.due_on >= today]
    if application.accepted_at is None or application.withdrawn_from_at is not None or not ahead:
        return "", ""
    figures = {"amount": money(ahead[0].payment_cents, application.shown_currency)}
    title = gettext("First payment") if len(ahead) == len(schedule) else gettext("Next payment")
    return title, gettext("%(amount)s on %(day)s") % {**figures, "day": date_in_words(ahead[0].due_on)}
