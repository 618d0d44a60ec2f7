"""Compare a version's scores in two time windows: stability of totals, missing inputs, outcomes, and overrides.

The population stability index (PSI) of two distributions over the same bins is the sum of (p - q) ln(p/q). By
convention, values below 0.1 are stable, and values above 0.25 are unstable.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from credit.core.card import APPROVE, DECLINE, REFER
from credit.core.machine import APPROVED, DECIDED, REJECTED
from credit.models import ApplicationHistory, ModelVersion, Score
from credit.scoring.evaluator import evaluate

_AS_PROPOSED = Q(outcome=APPROVE, decision=APPROVED) | Q(outcome=DECLINE, decision=REJECTED)
_OTHERWISE = Q(outcome=APPROVE, decision=REJECTED) | Q(outcome=DECLINE, decision=APPROVED)


class Overrides(NamedTuple):
    """Counts of followed and overridden proposals, without referred and undecided applications."""

    as_proposed: int
    otherwise: int

    @property
    def decisions(self) -> int:
        return self.as_proposed + self.otherwise

    @property
    def rate(self) -> float | None:
        return self.otherwise / self.decisions if self.decisions else None


def count_overrides(version_id: int, *, since: datetime, until: datetime) -> Overrides:
    conditions = {"version": version_id, "purpose": Score.DECISION, "created_at__gte": since, "created_at__lt": until}
    return _count(Score.objects.filter(~Score.superseded(), **conditions).order_by())


def newest_overrides(limit: int, *, using: str) -> Overrides:
    proposals = Score.objects.using(using).filter(purpose=Score.DECISION, outcome__in=(APPROVE, DECLINE))
    proposals = proposals.exclude(Score.superseded())
    return _count(proposals.order_by("-id")[:limit])


def _count(scores: QuerySet[Score]) -> Overrides:
    """Count scores by the last decision that a person made after the score. Exclude scores without a later decision."""
    by_people = ApplicationHistory.objects.filter(
        application=OuterRef("application_id"),
        status__in=DECIDED,
        principal__isnull=False,
        # A correction can create a new score after the decision. The decision did not consider that score.
        changed_at__gte=OuterRef("created_at"),
    )
    last = Subquery(by_people.order_by("-position").values("status")[:1])
    chosen = Score.objects.using(scores.db).filter(pk__in=scores.values("pk")).order_by().annotate(decision=last)
    return Overrides(
        **chosen.aggregate(as_proposed=Count("pk", filter=_AS_PROPOSED), otherwise=Count("pk", filter=_OTHERWISE))
    )


SCORES_MAX = 20_000
# The minimum number of scores in a window. With fewer, random variation alone exceeds the limit for a stable model.
SCORES_MIN = 100
TOTAL_BINS = 10
EMPTY_SHARE = 0.0001
WINDOW = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Window:
    """A time window from `start` (inclusive) to `end` (exclusive)."""

    start: datetime
    end: datetime

    @classmethod
    def until(cls, end: datetime) -> "Window":
        return cls(end - WINDOW, end)

    def before(self) -> "Window":
        """Return the preceding window of the same length."""
        return Window(self.start - (self.end - self.start), self.start)


@dataclass(slots=True)
class Sample:
    """Counts of up to SCORES_MAX newest scores of a window. `of` is the number of all scores in the window."""

    of: int
    scores: int = 0
    totals: list[int] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def too_few(self) -> bool:
        return self.scores < SCORES_MIN


def psi(expected: Sequence[float], actual: Sequence[float]) -> float | None:
    """Return the population stability index of two lists of counts over the same bins.

    The share of an empty bin is EMPTY_SHARE. Returns None if all counts of a list are zero.
    """
    all_expected, all_actual = sum(expected), sum(actual)
    if not all_expected or not all_actual:
        return None
    shares = (
        (a / all_actual or EMPTY_SHARE, e / all_expected or EMPTY_SHARE) for e, a in zip(expected, actual, strict=True)
    )
    return math.fsum((a - e) * math.log(a / e) for a, e in shares)


def scores_of(version: ModelVersion, window: Window) -> QuerySet[Score]:
    """Select a version's scores in a window: all scores as challenger, and each application's newest decision score."""
    return version.scores.filter(
        Q(purpose=Score.SHADOW) | Q(~Score.superseded(), purpose=Score.DECISION),
        created_at__gte=window.start, created_at__lt=window.end,
    )  # fmt: skip


def sample(version: ModelVersion, window: Window) -> Sample:
    """Count the newest scores of a window, with two queries."""
    scores = scores_of(version, window)
    counted = Sample(of=scores.count())
    rows: Any = scores.order_by("-created_at").values_list("total", "outcome", "missing")[:SCORES_MAX]
    for total, outcome, missing in rows.iterator(chunk_size=2_000):
        counted.scores += 1
        counted.totals.append(total)
        counted.outcomes[outcome] += 1
        counted.missing.update(missing)
    return counted


def equal_frequency_edges(totals: Sequence[int]) -> list[int]:
    """Return the lower bounds of bins that contain about the same number of totals. The first bin has no bound.

    Equal totals share a bin, so there can be fewer bins than TOTAL_BINS. If all totals are equal, there is also a bin
    for lower totals and a bin for higher totals, to make changes visible.
    """
    ordered = sorted(totals)
    if ordered and ordered[0] == ordered[-1]:
        return [ordered[0], ordered[0] + 1]
    edges = {ordered[len(ordered) * number // TOTAL_BINS] for number in range(1, TOTAL_BINS)} if ordered else set()
    return sorted(edges - set(ordered[:1]))


def _counts(totals: Sequence[int], edges: Sequence[int]) -> list[int]:
    counts = [0] * (len(edges) + 1)
    for total in totals:
        counts[bisect_right(edges, total)] += 1
    return counts


def _share(count: float, of: float) -> float | None:
    return count / of if of else None


def monitoring(version: ModelVersion, *, window: Window, against: Window) -> dict[str, Any]:
    """Compare the scores of a window with the scores of the window `against`.

    If a window has no scores, its shares are None. `psi` is None if either window has too few scores.
    """
    now, before = sample(version, window), sample(version, against)
    edges = equal_frequency_edges(before.totals)
    counts, counts_before = _counts(now.totals, edges), _counts(before.totals, edges)
    limits = [None, *edges, None]
    overrides = count_overrides(version.pk, since=window.start, until=window.end)
    return {
        "model_id": version.model_id,
        "version": version.number,
        "window": _described(window, now),
        "against": _described(against, before),
        "psi": None if now.too_few or before.too_few else psi(counts_before, counts),
        "bins": [
            {"from": low, "below": high, "share": _share(new, now.scores), "share_before": _share(old, before.scores)}
            for (low, high), new, old in zip(pairwise(limits), counts, counts_before, strict=True)
        ],
        "missing": [
            {
                "input": source.name,
                "rate": _share(now.missing[source.name], now.scores),
                "rate_before": _share(before.missing[source.name], before.scores),
            }
            for source in version.card.inputs
        ],
        "outcomes": {outcome: _share(now.outcomes[outcome], now.scores) for outcome in (APPROVE, REFER, DECLINE)},
        "overrides": {"decisions": overrides.decisions, "overrides": overrides.otherwise, "rate": overrides.rate},
    }


def _described(window: Window, counted: Sample) -> dict[str, Any]:
    counts = {"scores": counted.scores, "of": counted.of, "too_few": counted.too_few}
    return {"from": window.start, "to": window.end, **counts}


PAIRS_MAX = 10_000
FLIPS_MAX = 100


def compare(version: ModelVersion, other: ModelVersion, *, window: Window, limit: int) -> dict[str, Any]:
    """Compare the newest scores of `version` with the scores that `other` computes from the stored facts.

    `table` counts pairs of outcomes. `flips` lists the newest FLIPS_MAX applications with different outcomes. `skipped`
    counts scores whose facts are erased or lack a fact that `other` reads.
    """
    scores = scores_of(version, window).select_related("kept_facts").order_by("-created_at")[:limit]
    table: Counter[tuple[str, str]] = Counter()
    flips: list[dict[str, Any]] = []
    skipped = 0
    for score in scores.iterator(chunk_size=1_000):
        kept = score.facts_if_kept
        facts = {} if kept is None else kept.values()
        if not other.card.facts <= facts.keys():
            skipped += 1
            continue
        other_result = evaluate(other.card, facts)
        table[score.outcome, other_result.outcome] += 1
        if score.outcome != other_result.outcome and len(flips) < FLIPS_MAX:
            flips.append(
                {
                    "application_id": str(score.application_id),
                    "total": score.total,
                    "outcome": score.outcome,
                    "with_total": other_result.total,
                    "with_outcome": other_result.outcome,
                }
            )
    rows = [
        {"outcome": outcome, "with_outcome": with_outcome, "count": count}
        for (outcome, with_outcome), count in sorted(table.items())
    ]
    return {"pairs": sum(table.values()), "table": rows, "flips": flips, "skipped": skipped}
