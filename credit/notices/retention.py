"""Retain or erase the notices of an application, according to legal grounds and litigation holds."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from config.core.credentials import InsufficientScope
from config.core.ids import get_by_uuid
from config.core.lifecycle import Actor
from credit.applications.services import load_visible
from credit.core.errors import ApplicationNotFound
from credit.models import Application, Notice, RetentionHold, ReviewRequest, Score
from identity.access.second_factor import require_second_factor


@dataclass(frozen=True)
class Ground:
    """A law that requires retention for `months` after an event: `notice`, `acceptance`, or `score`."""

    name: str
    law: str
    months: int
    since: str

    @property
    def period(self) -> timedelta:
        # Each month counts as 31 days, so the period is never too short.
        return timedelta(days=31 * self.months)


NOTICE, ACCEPTANCE, SCORE = "notice", "acceptance", "score"
# For business credit, the same section requires 12 months, which the longer period includes.
REGULATION_B = Ground("regulation_b", "12 CFR 1002.12(b)(1)", 25, NOTICE)
REGULATION_Z = Ground("regulation_z", "12 CFR 1026.25(a)", 24, ACCEPTANCE)
COLORADO = Ground("colorado", "Colorado SB 26-189", 36, SCORE)
GROUNDS = (REGULATION_B, REGULATION_Z, COLORADO)


HOLD_PERMISSION = "credit.add_retentionhold"
_NOTICE_START = Coalesce("delivered_at", "made_at")
# The period of an unanswered request starts at the deadline.
_REQUEST_END = Coalesce("answered_at", "due_at")


class Kept(NamedTuple):
    """A ground that applies to an application, and the end of its retention period."""

    ground: Ground
    until: datetime


def _starts() -> dict[str, Any]:
    """Map each kind of event to an ORM expression for the time of the application's latest event of that kind."""
    notices = Notice.objects.filter(application=OuterRef("pk"), made_at__isnull=False).order_by("-made_at")
    scores = Score.objects.filter(application=OuterRef("pk")).order_by("-created_at")
    return {
        NOTICE: Subquery(notices.values(start=_NOTICE_START)[:1]),
        ACCEPTANCE: F("accepted_at"),
        SCORE: Subquery(scores.values("created_at")[:1]),
    }


def grounds_of(application: Application) -> list[Kept]:
    """Return the grounds that apply to an application. Each period starts at the latest event of the ground's kind."""
    starts: Any = Application.objects.values(**_starts()).get(pk=application.pk)
    kept = ((ground, starts[ground.since]) for ground in GROUNDS)
    return [Kept(ground, start + ground.period) for ground, start in kept if start is not None]


def without_ground(rows: "QuerySet[Any]", *, now: datetime) -> "QuerySet[Any]":
    """Exclude rows whose application has a hold or an unexpired retention ground.

    Grounds whose period starts with a notice are ignored.
    """
    holds = RetentionHold.objects.filter(application=OuterRef("pk")).order_by("-id").values("is_on")[:1]
    applications = Application.objects.annotate(is_held=Coalesce(Subquery(holds), False), **_starts())
    expired = applications.filter(pk=OuterRef("application"), is_held=False)
    for ground in GROUNDS:
        if ground.since != NOTICE:
            is_over = {f"{ground.since}__lte": now - ground.period}
            expired = expired.filter(Q(**{f"{ground.since}__isnull": True}) | Q(**is_over))
    return rows.filter(Exists(expired))


def erase_expired(*, now: datetime) -> dict[str, int]:
    """Erase notices and statements without a retention ground. Their hashes and dates remain."""
    before = now - REGULATION_B.period
    due = Notice.objects.annotate(start=_NOTICE_START).filter(made_at__lte=before, start__lte=before)
    notices = without_ground(due.filter(content__isnull=False), now=now)
    ended = ReviewRequest.objects.alias(end=_REQUEST_END).filter(end__lte=before, statement__isnull=False)
    statements = without_ground(ended, now=now)
    return {
        "notices": Notice.objects.filter(pk__in=notices.values("pk")).update(content=None, html=None),
        "review_statements": ReviewRequest.objects.filter(pk__in=statements.values("pk")).update(statement=None),
    }


def show_hold(application_id: str, actor: Actor) -> dict[str, Any]:
    """Return the latest hold and the retention grounds of an application. Raises the errors of `_load`."""
    return _serialize_hold(_load(application_id, actor))


def set_hold(application_id: str, *, on: bool, reason: str, actor: Actor, now: datetime) -> dict[str, Any]:
    """Start or end a litigation hold, and store the actor and the reason. Raises the errors of `_load`."""
    application = _load(application_id, actor)
    RetentionHold.objects.create(
        application=application, is_on=on, reason=reason, at=now, principal=actor.user, credential=actor.credential
    )
    return _serialize_hold(application)


def _load(application_id: str, actor: Actor) -> Application:
    """Return an application for an operator who can manage holds. Raises InsufficientScope for other accounts."""
    if not actor.user.has_perm(HOLD_PERMISSION):
        # If the caller can't read the application, `load_visible` raises 404 instead of 403.
        load_visible(application_id, actor)
        raise InsufficientScope("Requires the group Operations.", details={"required": HOLD_PERMISSION})
    require_second_factor(actor)
    return get_by_uuid(Application.objects.all(), application_id, ApplicationNotFound)


def _serialize_hold(application: Application) -> dict[str, Any]:
    newest = RetentionHold.newest_of(application)
    is_on, reason, at = (False, None, None) if newest is None else (newest.is_on, newest.reason, newest.at)
    about = {"application_id": str(application.pk), "grounds": grounds_of(application)}
    return {**about, "on": is_on, "reason": reason, "at": at}
