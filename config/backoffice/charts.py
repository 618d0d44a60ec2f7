"""Small charts, drawn by the server as SVG: no script, no picture library, readable by a screen reader.

An app registers a function that returns its chart's numbers; they are kept for CACHE_SECONDS.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.core.cache import cache

from config.backoffice.html import NOTHING

CACHE_SECONDS = 60
DAYS = 30
_WIDTH, _HEIGHT, _TOP, _LEFT, _BOTTOM = 640, 180, 12, 48, 22


@dataclass(frozen=True)
class Series:
    """One row of numbers, one for each day or place; `tone` is a status tone of the style sheet."""

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
    numbers: Callable[[], Numbers]
    calm: str


_charts: list[Chart] = []


def register(*charts: Chart) -> None:
    _charts.extend(charts)


def charts_of(user: Any) -> list[dict[str, Any]]:
    return [draw(chart) for chart in _charts if user.has_perm(chart.permission)]


def last_days(today: date) -> list[date]:
    return [today - timedelta(days=ago) for ago in range(DAYS - 1, -1, -1)]


def draw(chart: Chart) -> dict[str, Any]:
    """Return what the template needs of a chart of days; its numbers are kept for CACHE_SECONDS."""
    numbers: Numbers = cache.get_or_set(f"backoffice.chart.{chart.name}", chart.numbers, CACHE_SECONDS)  # type: ignore[assignment]
    summary = ", ".join(f"{sum(map(_height, series.values)):g} {series.name}" for series in numbers.series)
    plot = Plot(
        chart.title,
        [day.isoformat() for day in numbers.days],
        numbers.series,
        summary,
        ticks=[(at, f"{numbers.days[at]:%m-%d}") for at in range(0, len(numbers.days), 7)],
        leaves_out_zeros=True,
    )
    return {**draw_plot(plot), "chart": chart, "facts": numbers.facts}


@dataclass(frozen=True)
class Plot:
    """Bars over places that have labels, of several series on top of each other or side by side.

    `ticks` are the places whose label stands below the bars, by default all; `least_top` is how far the scale reaches
    at least and `most_top` at most, where longer bars are cut; `marks` are heights with a line across; `show` writes a
    value; `leaves_out_zeros` says whether the table names only places with something.
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


@dataclass(frozen=True)
class Scale:
    """The points from `lowest` to `highest`, zero among them, that bars in the lines of a table share."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, points: Iterable[float]) -> "Scale":
        known = [0, *points]
        return cls(min(known), max(known))

    def place(self, points: float) -> float:
        """Return where points stand, in hundredths of the width."""
        return 100 * (points - self.lowest) / ((self.highest - self.lowest) or 1)

    def bar(self, points: float, mark: float) -> dict[str, str]:
        """Return what `backoffice/bar.html` needs: a bar from zero to `points`, and a line at `mark`."""
        zero, end = self.place(0), self.place(points)
        return {
            "tone": "good" if points >= mark else "ask",
            "x": f"{min(zero, end):.2f}",
            "width": f"{abs(end - zero):.2f}",
            "mark": f"{self.place(mark):.2f}",
        }
