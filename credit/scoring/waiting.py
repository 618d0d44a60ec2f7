"""Scores of submissions that waited for reports. Each is computed once, from the reports that arrived."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from config.ops.failed_items import FailedItems
from credit.core.machine import FROZEN
from credit.core.report_summary import LATEST
from credit.models import Application, Correction, Report
from credit.models.reports import REQUESTED
from credit.scoring.facts_of import about_application
from credit.scoring.scores import compute, keep_all, versions_for

_LEASE = timedelta(minutes=1)


def score_waiting(*, now: datetime) -> tuple[int, int]:
    """Score applications whose reports arrived, or were requested 24 hours ago; return (scored, failed).

    Data that the card can't read lead to `refer`. Applications that were decided or ended in the meantime get no score.
    """
    waited = Report.objects.filter(score_waits=True)
    missing = waited.filter(application=OuterRef("pk"), status=REQUESTED, requested_at__gte=now - LATEST)
    queue = Application.objects.filter(~Exists(missing), pk__in=waited.values("application"))
    scored = 0

    def score(application: Application) -> None:
        nonlocal scored
        scored += _score(application.pk, now)

    failed = FailedItems("waiting_score", queue.order_by("pk"), lease=_LEASE).process(score, now=now)
    return scored, failed


def _score(pk: UUID, now: datetime) -> bool:
    """Score one application; return False if it gets no score, or if another process was first."""
    with transaction.atomic():
        locked = Application.objects.select_for_update().get(pk=pk)
        if not locked.reports.filter(score_waits=True).update(score_waits=False) or locked.status in FROZEN:
            return False
        corrected, about = Correction.known_of(locked.pk), about_application(locked)
        computed = compute(versions_for(locked), corrected=corrected, now=now, **about)
        keep_all(locked, computed, now=now)
        return bool(computed)
