"""Decisions that scores make by themselves, where `DECISIONING=automatic`.

What is approved or declined by the published version that scored it is decided as the actor `model:<id>@<number>`.
People have the rest: what is referred, a decline without a reason, what is assigned or proposed to somebody, what was
decided before, and what changed its data after it was scored.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from config.backoffice.models import Assignment, Proposal
from config.backoffice.proposals import propose
from config.core.errors import ApiError
from config.core.lifecycle import Actor
from credit.decisions import takes_two
from credit.machine import APPROVED, DRAFT, IN_REVIEW, REJECTED, SUBMITTED, UNDER_REVIEW
from credit.models import Application, ApplicationRevision
from credit.reasons import in_words, reasons_of
from credit.scoring.card import APPROVE, DECLINE
from credit.scoring.machine import PUBLISHED
from credit.scoring.models import Score

BATCH_MAX = 100
PROPOSED, FAILED = "proposed", "failed"

logger = logging.getLogger("platform.scoring")


def decide_scored(*, now: datetime) -> dict[str, int]:
    """Decide what scores decide, oldest first, at most BATCH_MAX applications; return how many became what.

    Each is a transaction of its own. One that cannot be decided is logged, counted as failed, and tried again later.
    """
    counts = Counter(dict.fromkeys((APPROVED, REJECTED, PROPOSED, FAILED), 0))
    if settings.DECISIONING != "automatic":
        return dict(counts)
    for pk in _waiting():
        try:
            with transaction.atomic():
                counts.update(_decide(pk, now))
        except (OperationalError, InterfaceError):
            raise  # the database is away: nothing else would fare better
        except ApiError as refusal:
            logger.info("application %s is left to people: %s", pk, refusal)
        except Exception:
            logger.exception("application %s could not be decided", pk)
            counts[FAILED] += 1
        if counts.total() - counts[FAILED] >= BATCH_MAX:
            break
    return dict(counts)


def _decidable() -> QuerySet[Application]:
    """Select what the score may decide, as far as this app's own tables tell."""
    scores = Score.objects.filter(
        Q(outcome=APPROVE) | Q(outcome=DECLINE) & ~Q(reasons=[]),
        application=OuterRef("pk"),
        purpose=Score.DECISION,
        version__status=PUBLISHED,
    )
    changed = ApplicationRevision.objects.filter(application=OuterRef("pk")).exclude(status=DRAFT)
    waiting = Application.objects.filter(status__in=IN_REVIEW, reviewed_at__isnull=True)
    return waiting.filter(Exists(scores), ~Exists(changed))


def _waiting() -> Iterator[Any]:
    """Yield the ids of what may be decided, oldest first, without what people are at."""
    last: Any = None
    while True:
        following = _decidable().order_by("submitted_at", "id")
        if last is not None:
            moment, pk = last
            following = following.filter(Q(submitted_at__gt=moment) | Q(submitted_at=moment, pk__gt=pk))
        page = list(following.values_list("submitted_at", "pk")[:BATCH_MAX])
        taken = _with_people([str(pk) for _, pk in page])
        yield from (pk for _, pk in page if str(pk) not in taken)
        if len(page) < BATCH_MAX:
            return
        last = page[-1]


def _with_people(identifiers: list[str]) -> set[str]:
    """Return which of these applications are assigned to somebody, or had a decision proposed, however that ended."""
    about = {"kind": Application._meta.label_lower, "record_id__in": identifiers}
    assigned = Assignment.objects.filter(**about).values_list("record_id", flat=True)
    proposed = Proposal.objects.filter(**about).values_list("record_id", flat=True)
    return {*assigned, *proposed}


def _decide(pk: Any, now: datetime) -> list[str]:
    """Decide about one application; return what it became, nothing where somebody else is at it."""
    application = Application.objects.select_for_update(skip_locked=True).filter(pk=pk).first()
    if application is None:
        return []
    # Asked again, in statements of their own, now that nobody else can change the row: whoever came first has it.
    if not _decidable().filter(pk=pk).exists() or _with_people([str(pk)]):
        return []
    score, to = application.decision_score, application.proposed_decision
    if score is None or to is None:
        return []
    given: dict[str, Any] = {"reason": None, "metadata": None}
    if to == REJECTED:
        if not (reasons := reasons_of({"reasons": score.reasons})):
            return []
        given = {"reason": in_words(reasons), "metadata": {"reasons": reasons}}
    actor = Actor.model(str(score.version))
    if application.status == SUBMITTED:
        application.transition_to(UNDER_REVIEW, actor=actor, now=now)
    if to == REJECTED and takes_two(to):
        propose(application, to, seen=application.reviewed_state, by=actor, now=now, **given)
        return [PROPOSED]
    application.transition_to(to, actor=actor, now=now, **given)
    return [to]
