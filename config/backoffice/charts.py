"""Small charts, drawn by the server as SVG: no script, no picture library, readable by a screen reader.

An app registers a function that returns its chart's numbers; they are kept for CACHE_SECONDS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from django.core.cache import cache
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

CACHE_SECONDS = 60
DAYS = 30
_WIDTH, _HEIGHT, _TOP, _LEFT, _BOTTOM = 640, 180, 12, 34, 22


@dataclass(frozen=True)
class Series:
    """One row of numbers, a number per day; `tone` is a status tone of the style sheet."""

    name: str
    tone: str
    values: Sequence[float]


@dataclass(frozen=True)
class Numbers:
    """What a chart shows: series over days, stacked; `unit` stands in the summary."""

    days: Sequence[date]
    series: Sequence[Series]
    unit: str = ""
    facts: Sequence[tuple[str, str]] = field(default_factory=tuple)


@dataclass(frozen=True)
class Chart:
    """A chart of the landing page."""

    name: str
    title: str
    permission: str
    numbers: Callable[[], Numbers]
    calm: str


_charts: dict[str, Chart] = {}


def register(chart: Chart) -> None:
    """Add a chart, or replace the one of that name."""
    _charts[chart.name] = chart


def charts_of(user: Any) -> list[dict[str, Any]]:
    """Return the charts that concern `user`, drawn."""
    return [draw(chart) for chart in _charts.values() if user.has_perm(chart.permission)]


def last_days(today: date, count: int = DAYS) -> list[date]:
    """Return the days up to `today`, oldest first."""
    return [today - timedelta(days=ago) for ago in range(count - 1, -1, -1)]


def draw(chart: Chart) -> dict[str, Any]:
    """Return a chart with its picture, its numbers as a table, and its facts."""
    numbers = cache.get(f"backoffice.chart.{chart.name}")
    if numbers is None:
        numbers = chart.numbers()
        cache.set(f"backoffice.chart.{chart.name}", numbers, CACHE_SECONDS)
    totals = [sum(series.values[i] for series in numbers.series) for i in range(len(numbers.days))]
    return {
        "chart": chart,
        "is_empty": not any(totals),
        "picture": _picture(chart.title, numbers, max(totals, default=0)),
        "legend": numbers.series,
        "rows": [
            (day, [series.values[i] for series in numbers.series]) for i, day in enumerate(numbers.days) if totals[i]
        ],
        "facts": numbers.facts,
    }


def _picture(title: str, numbers: Numbers, highest: float) -> SafeString:
    """Return stacked bars, one per day."""
    top = max(highest, 1)
    height, step = _HEIGHT - _TOP - _BOTTOM, (_WIDTH - _LEFT) / max(len(numbers.days), 1)
    bars = []
    for index, day in enumerate(numbers.days):
        base = float(_TOP + height)
        for series in numbers.series:
            value = series.values[index]
            if not value:
                continue
            tall = value / top * height
            base -= tall
            bars.append(
                (series.tone, f"{_LEFT + index * step + 1:.1f}", f"{base:.1f}", f"{step - 2:.1f}", f"{tall:.1f}",
                 f"{day.isoformat()}: {value:g} {series.name}")
            )  # fmt: skip
    ticks = [(f"{_LEFT + i * step + step / 2:.1f}", day.strftime("%m-%d")) for i, day in enumerate(numbers.days)]
    return format_html(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="img" aria-label="{title}: {what}">'
        '<line class="axis" x1="{l}" x2="{w}" y1="{b}" y2="{b}"></line>'
        '<text class="tick" x="{x}" y="{t}" text-anchor="end">{top}</text>'
        '<text class="tick" x="{x}" y="{b}" text-anchor="end">0</text>{bars}{ticks}</svg>',
        w=_WIDTH,
        h=_HEIGHT,
        title=title,
        what=", ".join(f"{sum(series.values):g} {series.name}" for series in numbers.series),
        l=_LEFT,
        b=_TOP + height,
        x=_LEFT - 6,
        t=_TOP + 8,
        top=f"{top:g}",
        bars=format_html_join(
            "",
            '<rect class="bar bar-{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
            bars,
        ),
        ticks=format_html_join(
            "",
            mark_safe(f'<text class="tick" x="{{}}" y="{_HEIGHT - 6}" text-anchor="middle">{{}}</text>'),  # noqa: S308
            ticks[::7],
        ),
    )
