"""What points are measured against: the averages of past scores, by the methods of 12 CFR 1002, comment 9(b)(2)-5."""

import copy
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from credit.core.card import APPROVE
from credit.models.scoring import ModelVersion

CUTOFF, ALL, BEST = "cutoff", "all", "best"
METHODS = (CUTOFF, ALL, BEST)
SCORES_MAX = 100_000


class NoScores(Exception):
    """There is no past score to take an average of."""


def with_baselines(version: ModelVersion, *, method: str, within: int) -> dict[str, Any]:
    """Return the version's definition with other baselines.

    `all` takes the average points of everybody who was scored, `cutoff` of those whose total was at the lowest that
    is approved or at most `within` points above it, `best` the most points that there are. Averages are rounded half
    up; the newest SCORES_MAX scores count. Raises NoScores.
    """
    definition = copy.deepcopy(version.definition)
    baselines = {} if method == BEST else _averages(version, method, within)
    for characteristic in definition["characteristics"]:
        best = max(one["points"] for one in characteristic["bins"])
        characteristic["baseline"] = baselines.get(characteristic["name"], best)
    return dict(definition)


def _averages(version: ModelVersion, method: str, within: int) -> dict[str, int]:
    found = version.scores.all()
    if method == CUTOFF:
        lowest = next((bound for outcome, bound in version.card.outcomes if outcome == APPROVE), None)
        if lowest is None:
            raise NoScores("This version approves nobody, so it has no cutoff.")
        found = found.filter(total__gte=lowest, total__lte=lowest + within)
    sums: Counter[str] = Counter()
    number = 0
    rows: Any = found.order_by("-created_at").values_list("points", flat=True)[:SCORES_MAX]
    for number, points in enumerate(rows.iterator(chunk_size=2_000), start=1):  # noqa: B007
        for name, _, gained, _ in points:
            sums[name] += gained
    if not number:
        raise NoScores("No score of this version counts for that method.")
    return {name: int((Decimal(total) / number).quantize(Decimal(1), ROUND_HALF_UP)) for name, total in sums.items()}
