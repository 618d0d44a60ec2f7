"""Decisions that people made against what a score proposed, counted by the last decision about each application."""

from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from credit.core.card import APPROVE, DECLINE
from credit.core.machine import APPROVED, DECIDED, REJECTED
from credit.models import ApplicationHistory, Score

_AS_PROPOSED = Q(outcome=APPROVE, decision=APPROVED) | Q(outcome=DECLINE, decision=REJECTED)
_OTHERWISE = Q(outcome=APPROVE, decision=REJECTED) | Q(outcome=DECLINE, decision=APPROVED)


class Overrides(NamedTuple):
    """How many proposals were followed, and how many were not. Referred and undecided applications are in neither."""

    as_proposed: int
    otherwise: int

    @property
    def decisions(self) -> int:
        return self.as_proposed + self.otherwise

    @property
    def rate(self) -> float | None:
        return self.otherwise / self.decisions if self.decisions else None


def count_overrides(version_id: int, *, since: datetime, until: datetime) -> Overrides:
    made = {"version": version_id, "purpose": Score.DECISION, "created_at__gte": since, "created_at__lt": until}
    return _count(Score.objects.filter(**made).order_by())


def newest_overrides(limit: int, *, using: str) -> Overrides:
    proposals = Score.objects.using(using).filter(purpose=Score.DECISION, outcome__in=(APPROVE, DECLINE))
    return _count(proposals.order_by("-id")[:limit])


def _count(scores: QuerySet[Score]) -> Overrides:
    """Count by the last decision of a person about each application; those without one are left out."""
    by_people = ApplicationHistory.objects.filter(
        application=OuterRef("application_id"), status__in=DECIDED, principal__isnull=False
    )
    last = Subquery(by_people.order_by("-position").values("status")[:1])
    chosen = Score.objects.using(scores.db).filter(pk__in=scores.values("pk")).order_by().annotate(decision=last)
    return Overrides(
        **chosen.aggregate(as_proposed=Count("pk", filter=_AS_PROPOSED), otherwise=Count("pk", filter=_OTHERWISE))
    )
