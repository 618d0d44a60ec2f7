"""Small charts, drawn by the server as SVG: no script, no picture library, readable by a screen reader.

An app registers a function that returns its chart's numbers; they are kept for CACHE_SECONDS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.core.cache import cache

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
    """Return what the template needs: the places of bars and ticks, the numbers as a table, the facts."""
    numbers: Numbers = cache.get_or_set(f"backoffice.chart.{chart.name}", chart.numbers, CACHE_SECONDS)  # type: ignore[assignment]
    stacks = [[series.values[at] for series in numbers.series] for at in range(len(numbers.days))]
    top = max(1, *map(sum, stacks))
    floor, step = _HEIGHT - _BOTTOM, (_WIDTH - _LEFT) / len(numbers.days)
    scale = (floor - _TOP) / top
    bars = []
    for at, (day, stack) in enumerate(zip(numbers.days, stacks, strict=True)):
        for level, (series, value) in enumerate(zip(numbers.series, stack, strict=True)):
            bars.append(
                {
                    "tone": series.tone,
                    "x": f"{_LEFT + at * step + 1:.1f}",
                    "y": f"{floor - sum(stack[: level + 1]) * scale:.1f}",
                    "width": f"{step - 2:.1f}",
                    "height": f"{value * scale:.1f}",
                    "title": f"{day.isoformat()}: {value:g} {series.name}",
                    "value": value,
                }
            )
    return {
        "chart": chart,
        "is_empty": not any(map(sum, stacks)),
        "summary": ", ".join(f"{sum(series.values):g} {series.name}" for series in numbers.series),
        "size": {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "edge": _LEFT - 6, "floor": floor, "top": _TOP + 8},
        "highest": f"{top:g}",
        "bars": [bar for bar in bars if bar["value"]],
        "ticks": [(f"{_LEFT + (at + 0.5) * step:.1f}", numbers.days[at]) for at in range(0, len(numbers.days), 7)],
        "legend": numbers.series,
        "rows": [(day, stack) for day, stack in zip(numbers.days, stacks, strict=True) if sum(stack)],
        "facts": numbers.facts,
    }
