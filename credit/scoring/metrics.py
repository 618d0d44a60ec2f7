"""Metrics for `/metrics`: the queues of reviewers, the ledger, and notices, and the share of followed proposals."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models.functions import Coalesce

from config.ops.readings import Reading, read_queue
from credit.core.machine import IN_REVIEW
from credit.models import Application, Clock, DecisionAnchor, Notice
from credit.models.notices import UNDELIVERED
from credit.scoring.monitoring import newest_overrides

# This number of proposals is enough to detect that reviewers no longer follow a model.
PROPOSALS_LOOKED_AT = 1_000
# The time of each kind of record for the ledger. Each record has one of these columns.
_RECORDED_AT = (
    "history__changed_at",
    "acceptance__accepted_at",
    "notice__made_at",
    "withdrawal__received_at",
    "publication__changed_at",
    "record_key__valid_from",
)


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    yield from read_queue(
        Application.objects.using(using).filter(status__in=IN_REVIEW).order_by("submitted_at", "id"),
        "applications_in_review",
        "Applications that wait for a decision.",
        since="submitted_at",
        now=now,
    )
    yield from read_queue(
        DecisionAnchor.objects.using(using).filter(anchored_at__isnull=True).order_by("due_at"),
        "anchors_pending",
        "Records that are not anchored yet.",
        since=Coalesce(*_RECORDED_AT),
        now=now,
    )
    proposals = newest_overrides(PROPOSALS_LOOKED_AT, using=using)
    meaning = (
        f"Decided scores among the newest {PROPOSALS_LOOKED_AT} that propose a decision, as proposed or otherwise."
    )
    yield Reading("platform_score_proposals", meaning, proposals.as_proposed, {"decided": "as_proposed"})
    yield Reading("platform_score_proposals", meaning, proposals.otherwise, {"decided": "otherwise"})
    undelivered = Notice.objects.using(using).filter(status__in=UNDELIVERED).order_by("created_at")
    meaning = "Notices that are not delivered yet."
    yield from read_queue(undelivered, "notices_due", meaning, since="created_at", now=now)
    late = Clock.objects.using(using).filter(stopped_at__isnull=True, due_at__lte=now).order_by("due_at")
    yield read_queue(late, "clocks_overdue", "Missed deadlines.", since="due_at", now=now)[0]


READING = (Application, measure)
