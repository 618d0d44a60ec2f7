"""Applications that wait for a reviewer, and decisions that wait for the ledger."""

from collections.abc import Iterator
from datetime import datetime

from config.ops.readings import Reading, read_queue
from credit.machine import SUBMITTED, UNDER_REVIEW
from credit.models import Application, DecisionAnchor


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    yield from read_queue(
        Application.objects.using(using).filter(status__in=(SUBMITTED, UNDER_REVIEW)).order_by("submitted_at", "id"),
        name="applications_in_review",
        meaning="Applications that wait for a decision.",
        since="submitted_at",
        now=now,
    )
    yield from read_queue(
        DecisionAnchor.objects.using(using).filter(anchored_at__isnull=True).order_by("due_at"),
        name="anchors_pending",
        meaning="Decisions that are not in the ledger yet.",
        since="history__changed_at",
        now=now,
    )
