"""The request for reconsideration on the application page: the last day to send it, and the time of the answer."""

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from config.core.encryption import readable
from config.core.errors import ValidationFailed
from credit.applications.services import IDLE_DAYS
from credit.core import deadlines
from credit.core import machine as states
from credit.models import Application, Clock
from credit.my.words import read_lines
from credit.notices import services as notices
from credit.notices.services import STATEMENT_MAX
from credit.terms.counteroffers import open_of


def describe(application: Application) -> dict[str, Any]:
    """Return the template context of the section: an open request with its deadline, or whether a request is allowed.

    `ask_by` is the last moment of a request. It is empty for a rejection, which has none.
    """
    request, zone = application.open_review_request, timezone.get_current_timezone_name()
    may_ask = request is None and application.is_reconsiderable
    ends_at = _ends_at(application) if may_ask else None
    return {
        "asked_again": request,
        "asked_reasons": request and readable(lambda: request.statement),
        "answered_by": request and deadlines.in_words(request.due_at, zone),
        "may_ask_again": may_ask,
        "ask_by": deadlines.in_words(ends_at, zone) if ends_at else "",
        "answer_days": Clock.DAYS[Clock.REVIEW],
    }


def _ends_at(application: Application) -> datetime | None:
    """Return when the decision can no longer be reconsidered, or None for a rejection."""
    if application.status == states.REJECTED:
        return None
    if application.status == states.APPROVED:
        return application.updated_at + timedelta(days=IDLE_DAYS[states.APPROVED])
    offered = open_of(application)
    return None if offered is None else offered.expires_at


def ask_again(request: HttpRequest, application_id: str, actor: Any) -> str:
    statement = read_lines(request.POST.get("statement", ""))
    if not 0 < len(statement) <= STATEMENT_MAX:
        raise ValidationFailed(gettext("Enter your reasons for reconsideration, at most 4,000 characters."))
    notices.request_review(application_id, statement=statement, actor=actor, now=timezone.now())
    return gettext("A reviewer who had no part in the decision will reconsider it.")
