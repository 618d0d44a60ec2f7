"""The table of measurements: figures, ratios, and goals that are met or missed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table. If it has a goal, `value` must be at most, or without `at_most` at least, the goal."""

    work: str
    subject: str
    per_second: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    cpu_us: float | None = None
    value: float | None = None
    goal: float | None = None
    at_most: bool = True
    unit: str = ""

    @property
    def met(self) -> bool | None:
        """Return whether the goal is met, or None if there is no goal."""
        if self.goal is None or self.value is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def cells(self) -> list[str]:
        """Return the texts of the columns."""
        figures = [
            "" if figure is None else f"{figure:,.{digits}f}"
            for figure, digits in ((self.per_second, 0), (self.p50_ms, 1), (self.p99_ms, 1), (self.cpu_us, 0))
        ]
        value = "" if self.value is None else f"{self.value:.2f}{self.unit}"
        verdict = ""
        if self.met is not None:
            sign = "≤" if self.at_most else "≥"
            verdict = f"{sign} {self.goal:g}{self.unit} {'met' if self.met else 'NOT MET'}"
        return [self.work, self.subject, *figures, value, verdict]


def counts(work: str, figures: Mapping[str, float], goal: float | None = None) -> Iterator[Line]:
    """Yield a line for each figure, all with the same goal."""
    for name, value in figures.items():
        yield Line(work, name, value=float(value), goal=goal)


HEADINGS = ["work", "server", "req/s", "p50 ms", "p99 ms", "CPU µs", "ours ÷ it", "goal"]
_LEFT = {0, 1, 7}


def table(lines: Iterable[Line]) -> str:
    """Format lines as a table that shows a repeated `work` only in its first row."""
    rows = [line.cells() for line in lines]
    widths = [max(len(row[column]) for row in [HEADINGS, *rows]) for column in range(len(HEADINGS))]
    printed, before = [_row(HEADINGS, widths), "  ".join("-" * width for width in widths)], ""
    for row in rows:
        printed.append(_row(["" if row[0] == before else row[0], *row[1:]], widths))
        before = row[0]
    return "\n".join(printed)


def _row(cells: list[str], widths: list[int]) -> str:
    """Format a row, with numbers aligned right."""
    return "  ".join(
        cell.ljust(width) if column in _LEFT else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ).rstrip()
