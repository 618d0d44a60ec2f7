"""A line chart as SVG, readable on light and on dark ground."""

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 150, 40, 50
_COLOURS = ("#3572b0", "#d1652a", "#2f9e63", "#b5489a", "#8a7a1e", "#7a6fd0")
_STYLE = """
text { font: 12px sans-serif; fill: #222 } .grid { stroke: #ccc } svg { background: #fff }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #444 } svg { background: #161616 } }
"""


def line_chart(title: str, unit: str, sizes: Sequence[int], series: Mapping[str, Sequence[float]]) -> str:
    """Return a chart of each series over `sizes`: sizes by their logarithm, figures from zero."""
    top = _round_up(max(max(figures) for figures in series.values()))
    low, high = math.log10(min(sizes)), math.log10(max(sizes))

    def x_of(size: int) -> float:
        share = (math.log10(size) - low) / (high - low) if high > low else 0.5
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y_of(figure: float) -> float:
        return _HEIGHT - _BOTTOM - figure / top * (_HEIGHT - _TOP - _BOTTOM)

    parts = [f'<text x="{_LEFT}" y="20">{escape(title)}</text>']
    for step in range(5):
        figure = top * step / 4
        y = y_of(figure)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{figure:g}</text>')
    parts += [
        f'<text x="{x_of(size):.1f}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle">{size:,}</text>'
        for size in sizes
    ]
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 10}">{escape(unit)}</text>')
    # Names stand where their lines end, apart from each other.
    below = -math.inf
    ordered = sorted(enumerate(series.items()), key=lambda one: y_of(one[1][1][-1]))
    for number, (name, figures) in ordered:
        colour = _COLOURS[number % len(_COLOURS)]
        points = [(x_of(size), y_of(figure)) for size, figure in zip(sizes, figures, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        below = max(below + 15, points[-1][1] + 4)
        style = f'style="fill:{colour}"'
        parts.append(f'<text x="{points[-1][0] + 10:.1f}" y="{below:.1f}" {style}>{escape(name)}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}">'
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>", ""])


def _round_up(figure: float) -> float:
    """Return 1, 2, 4, 6 or 8 times a power of ten that is at least `figure`."""
    power = 10 ** math.floor(math.log10(figure)) if figure > 0 else 1
    return next(float(step * power) for step in (1, 2, 4, 6, 8, 10) if step * power >= figure)
