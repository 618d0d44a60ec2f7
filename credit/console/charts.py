"""Draw charts, and compute the charts of decisions on the back office's landing page.

The server draws charts as SVG, without scripts or image libraries, and adds a table for screen readers.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.core.cache import cache
from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F
from django.db.models.functions import TruncDate
from django.utils import timezone

from config.backoffice.consoles import Console, shown_at
from config.backoffice.html import day_in_words, duration
from config.core.digest import digest_of
from credit.core.machine import APPROVED, DECIDED, REJECTED
from credit.models import ApplicationHistory

CACHE_SECONDS = 60
DAYS = 30
_WIDTH, _HEIGHT, _TOP, _LEFT, _BOTTOM = 640, 180, 12, 48, 22


class Series(NamedTuple):
    """A series of a chart, with a number per day. `tone` is a status tone of the style sheet."""

    name: str
    tone: str
    values: Sequence[float]


class Chart(NamedTuple):
    name: str
    title: str
    permission: str
    draw: Callable[[Console | None], dict[str, Any]]
    calm: str

    def drawn(self, console: Console | None) -> dict[str, Any]:
        """Return the template context for all records, or for the records of a lender console."""
        return {**self.draw(console), "title": self.title, "chart": self}


def draw(days: Sequence[date], series: Sequence[Series], facts: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return the context of `backoffice/chart.html`: positions of bars and ticks, and a table of the numbers.

    The series of a day are stacked. The table lists only days with a value.
    """
    stacks = [[line.values[at] for line in series] for at in range(len(days))]
    highest = max(1, *map(sum, stacks))
    floor, step = _HEIGHT - _BOTTOM, (_WIDTH - _LEFT) / len(days)
    scale = (floor - _TOP) / highest
    bars = [
        {
            "tone": line.tone,
            "x": f"{_LEFT + at * step + 1:.1f}",
            "y": f"{floor - sum(stack[: level + 1]) * scale:.1f}",
            "width": f"{step - 2:.1f}",
            "height": f"{value * scale:.1f}",
            "title": f"{day_in_words(day)}: {value:g} {line.name}",
        }
        for at, (day, stack) in enumerate(zip(days, stacks, strict=True))
        for level, (line, value) in enumerate(zip(series, stack, strict=True))
        if value
    ]
    return {
        "is_empty": not bars,
        "summary": ", ".join(f"{sum(line.values):g} {line.name}" for line in series),
        "size": {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "edge": _LEFT - 6, "floor": floor, "top": _TOP + 8},
        "highest": f"{highest:g}",
        "bars": bars,
        "ticks": [
            (f"{_LEFT + (at + 0.5) * step:.1f}", f"{days[at]:%b} {days[at].day}") for at in range(0, len(days), 7)
        ],
        "legend": series,
        "rows": [
            (day_in_words(day), [f"{value:g}" for value in stack])
            for day, stack in zip(days, stacks, strict=True)
            if any(stack)
        ],
        "facts": facts,
    }


_Decided = tuple[list[date], dict[tuple[date, str], tuple[int, timedelta]]]


def _decided_by_day(console: Console | None) -> _Decided:
    """Return the result of `_count` for the two charts of a page, cached for CACHE_SECONDS."""
    scope = "everybody" if console is None else digest_of(repr(sorted(console.providers)))
    key = f"backoffice.decided.{scope}"
    try:
        return cast("_Decided", cache.get_or_set(key, partial(_count, console), CACHE_SECONDS))
    except Exception:  # noqa: BLE001  each cache raises its own errors, and the page does not need the cache
        return _count(console)


def _count(console: Console | None) -> _Decided:
    """Return the last DAYS days.

    For each day with decisions, return the number of decisions and the mean time from submission to decision.
    """
    now = timezone.now()
    days = [now.date() - timedelta(days=ago) for ago in range(DAYS - 1, -1, -1)]
    since = now - timedelta(days=DAYS)
    waiting_time = ExpressionWrapper(F("changed_at") - F("application__submitted_at"), output_field=DurationField())
    # This is the lowest UUIDv7 of `since`. IDs grow with time, so the query can use the primary key's index.
    first = UUID(int=int(since.timestamp() * 1000) << 80)
    recent = ApplicationHistory.objects.filter(id__gte=first, changed_at__gte=since, status__in=DECIDED)
    rows = shown_at(console, recent).annotate(day=TruncDate("changed_at")).values("day", "status").order_by()
    rows = rows.annotate(decided=Count("id"), took=Avg(waiting_time))
    return days, {(row["day"], row["status"]): (row["decided"], row["took"] or timedelta()) for row in rows}


def decisions_per_day(console: Console | None) -> dict[str, Any]:
    days, decided = _decided_by_day(console)
    approved, rejected = ([decided.get((day, status), (0, None))[0] for day in days] for status in (APPROVED, REJECTED))
    mean = _mean(decided.values())
    return draw(
        days,
        (Series("approved", "good", approved), Series("rejected", "bad", rejected)),
        (("Mean time from submission to decision:", duration(mean)),) if mean is not None else (),
    )


def days_to_decision(console: Console | None) -> dict[str, Any]:
    days, decisions = _decided_by_day(console)
    means = [_mean(entry for (decided, _), entry in decisions.items() if decided == day) for day in days]
    values = [round(mean / timedelta(days=1), 1) if mean is not None else 0 for mean in means]
    return draw(days, (Series("days, on average", "wait", values),))


def _mean(entries: Iterable[tuple[int, timedelta]]) -> timedelta | None:
    """Return the mean of the entries' means, weighted by their counts, or None if there are no entries."""
    counted = list(entries)
    total = sum(count for count, _ in counted)
    return sum((took * count for count, took in counted), timedelta()) / total if total else None


CHARTS = (
    Chart(
        name="decisions",
        title=f"Decisions per day, last {DAYS} days",
        permission="credit.view_application",
        draw=decisions_per_day,
        calm="No decisions in this period. This chart displays approvals and rejections.",
    ),
    Chart(
        name="time-to-decision",
        title=f"Days from submission to decision, last {DAYS} days",
        permission="credit.view_application",
        draw=days_to_decision,
        calm="No decisions in this period. This chart displays the time to each decision.",
    ),
)
