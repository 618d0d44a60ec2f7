"""Decide applications with scores and without a reviewer (`DECISIONING=automatic`).

The actor `model:<id>@<number>` decides applications that the published version approved or declined. An approval
requires a price from the score, or an offer with a single rate. Reviewers decide these applications:

- The score refers the application, or declines it without a reason or because of a missing value.
- The application has an assignee or a proposal.
- The application was decided or scored before, had a counteroffer, or changed after the score.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from config.core.casework import Assignment
from config.core.errors import ApiError
from config.core.lifecycle import Actor
from config.ops.failed_items import STOP, FailedItems
from credit.core.card import APPROVE, DECLINE
from credit.core.machine import APPROVED, DRAFT, IN_REVIEW, REJECTED, SUBMITTED, UNDER_REVIEW
from credit.core.reasons import faults_of, in_words, reasons_of
from credit.models import Application, ApplicationRevision, Proposal
from credit.models.applications import REVIEW_PERMISSION
from credit.models.scoring import PUBLISHED, Score
from credit.review.report_ids import read_by_score
from credit.review.services import decide
from credit.terms.loans import automatic_terms

BATCH_MAX = 100
_LEASE = timedelta(minutes=10)  # the lease is long enough for BATCH_MAX decisions
PROPOSED, FAILED = "proposed", "failed"

logger = logging.getLogger("platform.scoring")


def decide_scored(*, now: datetime) -> dict[str, int]:
    """Decide up to BATCH_MAX scored applications, oldest first. Return counts by result.

    Each application has its own transaction. If an application raises an error, the error is logged, the application
    counts as failed, and a later run tries again.
    """
    counts = Counter(dict.fromkeys((APPROVED, REJECTED, PROPOSED, FAILED), 0))
    if settings.DECISIONING != "automatic":
        return dict(counts)
    items = FailedItems("automatic_decision", _decidable(), lease=_LEASE)

    def decide_one(application: Application) -> Any:
        try:
            with transaction.atomic():
                counts.update(_decide(application.pk, now))
        except ApiError as refusal:
            logger.info("application %s is left to reviewers: %s", application.pk, refusal)
        return STOP if counts.total() >= BATCH_MAX else None

    # `process` stores its position once per page. A write for each application would take most of the time, because
    # reviewers decide most applications.
    counts[FAILED] = items.process(decide_one, now=now, choose=_waiting, batch=BATCH_MAX)
    return dict(counts)


def _decidable() -> QuerySet[Application]:
    scores = Score.objects.filter(
        Q(outcome=APPROVE) | Q(outcome=DECLINE) & ~Q(reasons=[]),
        application=OuterRef("pk"),
        purpose=Score.DECISION,
        version__status=PUBLISHED,
    )
    scored_again = Score.objects.filter(application=OuterRef("pk"), number__gt=1)
    changed = ApplicationRevision.objects.filter(application=OuterRef("pk")).exclude(status=DRAFT)
    # After a counteroffer, only reviewers decide, even if the counteroffer is closed.
    waiting = Application.objects.filter(status__in=IN_REVIEW, reviewed_at__isnull=True, counteroffer_moves=0)
    return waiting.filter(Exists(scores), ~Exists(changed), ~Exists(scored_again))


def _waiting(decidable: QuerySet[Application]) -> Iterator[Any]:
    """Yield the IDs of decidable applications, oldest first. Applications that reviewers work on are skipped."""
    last: Any = None
    while True:
        following = decidable.order_by("submitted_at", "id")
        if last is not None:
            moment, pk = last
            following = following.filter(Q(submitted_at__gt=moment) | Q(submitted_at=moment, pk__gt=pk))
        page = list(following.values_list("submitted_at", "pk")[:BATCH_MAX])
        with_reviewers = _with_reviewers([pk for _, pk in page])
        yield from (pk for _, pk in page if pk not in with_reviewers)
        if len(page) < BATCH_MAX:
            return
        last = page[-1]


def _with_reviewers(identifiers: list[UUID]) -> set[UUID]:
    """Return the IDs of the applications that have an assignee or a proposal. Closed proposals are included."""
    about = {"kind": Application._meta.label_lower, "record_id__in": list(map(str, identifiers))}
    assigned = Assignment.in_force(REVIEW_PERMISSION, **about).values_list("record_id", flat=True)
    proposed = Proposal.objects.filter(application__in=identifiers).values_list("application_id", flat=True)
    return {*map(UUID, assigned), *proposed}


def _decide(pk: Any, now: datetime) -> list[str]:
    """Decide an application. Return a list with the new status, or an empty list if the status did not change."""
    application = Application.objects.select_for_update(skip_locked=True).filter(pk=pk).first()
    if application is None:
        return []
    # The conditions are checked again under the lock, because another process may have changed the application.
    if not _decidable().filter(pk=pk).exists() or _with_reviewers([pk]):
        return []
    score, to = application.decision_score, application.proposed_decision
    if score is None or to is None:
        return []
    because: dict[str, Any] = {"reason": None, "metadata": None}
    if to == REJECTED:
        reasons, has_report = reasons_of({"reasons": score.reasons}), bool(read_by_score(application))
        if not reasons or faults_of(reasons, has_report=has_report) or _rests_on_missing(score):
            # A reviewer must decide, because a notice can't contain these reasons, or because a value was missing.
            return []
        because = {"reason": in_words(reasons), "metadata": {"reasons": reasons}}
    else:
        if (terms := automatic_terms(application)) is None:
            return []
        because = {"reason": None, "metadata": {"terms": terms}}
    actor = Actor.model(str(score.version))
    if application.status == SUBMITTED:
        application.transition_to(UNDER_REVIEW, actor=actor, now=now)
    return [to if decide(application, to, actor=actor, now=now, **because) is None else PROPOSED]


def _rests_on_missing(score: Score) -> bool:
    """Return whether an input was missing and no knockout rule applied. Returns True if the facts were erased."""
    if not score.missing:
        return False
    kept = score.facts_if_kept
    return kept is None or score.version.card.knockout_of(kept.values()) is None
