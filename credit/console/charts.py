"""Charts of decisions, on the landing page of the back office, and how charts are drawn.

The server draws them as SVG: no script, no picture library, readable by a screen reader.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from typing import Any, cast
from uuid import UUID

from django.core.cache import cache
from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F
from django.db.models.functions import TruncDate
from django.utils import timezone

from config.backoffice.desks import Desk, shown_at
from config.backoffice.html import NOTHING, duration
from credit.core.machine import APPROVED, DECIDED, REJECTED
from credit.models import ApplicationHistory

CACHE_SECONDS = 60
DAYS = 30
_WIDTH, _HEIGHT, _TOP, _LEFT, _BOTTOM = 640, 180, 12, 48, 22


@dataclass(frozen=True)
class Series:
    """One number for each day; `tone` is a status tone of the style sheet."""

    name: str
    tone: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Numbers:
    days: Sequence[date]
    series: Sequence[Series]
    facts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    permission: str
    numbers: Callable[[Desk | None], Numbers]
    calm: str

    def drawn(self, desk: Desk | None) -> dict[str, Any]:
        """Return what the template needs, of everything or of what is a lender's."""
        numbers = self.numbers(desk)
        summary = ", ".join(f"{sum(map(_height, series.values)):g} {series.name}" for series in numbers.series)
        plot = Plot(
            self.title,
            [day.isoformat() for day in numbers.days],
            numbers.series,
            summary,
            ticks=[(at, f"{numbers.days[at]:%m-%d}") for at in range(0, len(numbers.days), 7)],
            leaves_out_zeros=True,
        )
        return {**draw_plot(plot), "chart": self, "facts": numbers.facts}


@dataclass(frozen=True)
class Plot:
    """Bars over places that have labels, of several series on top of each other or side by side.

    The series of a day stand on top of each other. The table lists only days with a value.
    """

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    summary: str
    ticks: Sequence[tuple[int, str]] | None = None
    least_top: float = 1
    most_top: float | None = None
    marks: Sequence[float] = ()
    is_stacked: bool = True
    show: Callable[[float], str] = "{:g}".format
    leaves_out_zeros: bool = False


def _height(value: float | None) -> float:
    return 0 if value is None else max(value, 0)


def draw_plot(plot: Plot) -> dict[str, Any]:
    """Return what `backoffice/plot.html` needs: the places of bars and ticks, and the numbers as a table."""
    stacks = [[series.values[at] for series in plot.series] for at in range(len(plot.labels))]
    heights = [[_height(value) for value in stack] for stack in stacks]
    highest = max(plot.least_top, *(sum(one) if plot.is_stacked else max(one) for one in heights))
    top = highest if plot.most_top is None else min(highest, plot.most_top)
    floor, step = _HEIGHT - _BOTTOM, (_WIDTH - _LEFT) / max(1, len(plot.labels))
    scale, width = (floor - _TOP) / top, (step - 2) / (1 if plot.is_stacked else len(plot.series))
    bars = []
    for at, (label, stack) in enumerate(zip(plot.labels, heights, strict=True)):
        for level, (series, value) in enumerate(zip(plot.series, stack, strict=True)):
            below = sum(stack[:level]) if plot.is_stacked else 0
            height = min(below + value, top) - min(below, top)
            bars.append(
                {
                    "tone": series.tone,
                    "x": f"{_LEFT + at * step + 1 + (0 if plot.is_stacked else level * width):.1f}",
                    "y": f"{floor - (min(below, top) + height) * scale:.1f}",
                    "width": f"{width:.1f}",
                    "height": f"{height * scale:.1f}",
                    "title": f"{label}: {plot.show(value)} {series.name}",
                    "value": value,
                }
            )
    ticks = enumerate(plot.labels) if plot.ticks is None else plot.ticks
    return {
        "title": plot.title,
        "is_empty": not any(map(any, heights)),
        "summary": plot.summary,
        "size": {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "edge": _LEFT - 6, "floor": floor, "top": _TOP + 8},
        "highest": f"{'' if top == highest else '≥ '}{plot.show(top)}",
        "bars": [bar for bar in bars if bar["value"]],
        "marks": [(plot.show(value), f"{floor - value * scale:.1f}") for value in plot.marks],
        "ticks": [(f"{_LEFT + (at + 0.5) * step:.1f}", label) for at, label in ticks],
        "legend": plot.series,
        "rows": [
            (label, [NOTHING if value is None else plot.show(value) for value in stack])
            for label, stack in zip(plot.labels, stacks, strict=True)
            if any(stack) or not plot.leaves_out_zeros
        ],
    }


_Decided = tuple[list[date], dict[tuple[date, str], tuple[int, timedelta]]]


def _decided_by_day(desk: Desk | None) -> _Decided:
    """Return what `_count` counts, for both charts of a page; kept for CACHE_SECONDS."""
    of_whom = "everybody" if desk is None else sha256(repr(sorted(desk.providers)).encode()).hexdigest()
    key = f"backoffice.decided.{of_whom}"
    return cast("_Decided", cache.get_or_set(key, lambda: _count(desk), CACHE_SECONDS))


def _count(desk: Desk | None) -> _Decided:
    """Return the last days, and for each with decisions their number and mean time since submission."""
    now = timezone.now()
    days = [now.date() - timedelta(days=ago) for ago in range(DAYS - 1, -1, -1)]
    since = now - timedelta(days=DAYS)
    took = ExpressionWrapper(F("changed_at") - F("application__submitted_at"), output_field=DurationField())
    # The lowest UUIDv7 of a moment: ids grow with time, so the primary key answers questions about it.
    first = UUID(int=int(since.timestamp() * 1000) << 80)
    rows = (
        shown_at(desk, ApplicationHistory.objects.all())
        .filter(id__gte=first, changed_at__gte=since, status__in=DECIDED)
        .annotate(day=TruncDate("changed_at"))
        .values("day", "status")
        .order_by()
        .annotate(decided=Count("id"), took=Avg(took))
    )
    return days, {(row["day"], row["status"]): (row["decided"], row["took"] or timedelta()) for row in rows}


def decisions_per_day(desk: Desk | None) -> Numbers:
    days, found = _decided_by_day(desk)
    approved, rejected = ([found.get((day, status), (0, None))[0] for day in days] for status in (APPROVED, REJECTED))
    mean = _mean(found.values())
    return Numbers(
        days,
        (Series("approved", "good", approved), Series("rejected", "bad", rejected)),
        facts=(("Mean time from submission to decision:", duration(mean)),) if mean is not None else (),
    )


def days_to_decision(desk: Desk | None) -> Numbers:
    days, found = _decided_by_day(desk)
    means = [_mean(entry for (decided, _), entry in found.items() if decided == day) for day in days]
    values = [round(mean / timedelta(days=1), 1) if mean is not None else 0 for mean in means]
    return Numbers(days, (Series("days, on average", "wait", values),))


def _mean(entries: Iterable[tuple[int, timedelta]]) -> timedelta | None:
    """Return the mean of means, each weighted by its number; None without any."""
    counted = list(entries)
    total = sum(count for count, _ in counted)
    return sum((took * count for count, took in counted), timedelta()) / total if total else None


CHARTS = (
    Chart(
        name="decisions",
        title=f"Decisions per day, last {DAYS} days",
        permission="credit.view_application",
        numbers=decisions_per_day,
        calm="No decision in this time. Approvals and rejections will be drawn here.",
    ),
    Chart(
        name="time-to-decision",
        title=f"Days from submission to decision, last {DAYS} days",
        permission="credit.view_application",
        numbers=days_to_decision,
        calm="No decision in this time. How long each took will be drawn here.",
    ),
)
