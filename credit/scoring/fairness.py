"""Selection rates by group, for monitoring: how often each group is approved, against the group approved most often.

Groups come from a file and are joined in memory: they are never stored beside what is decided.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from credit.core.card import APPROVE
from credit.models.scoring import Score, ScoringModel

_Z95 = 1.959963984540054
# The share of the best group's rate below which the four-fifths rule of thumb asks for a closer look.
FOUR_FIFTHS = 0.8


def adverse_impact(model: ScoringModel, groups: Mapping[UUID, str]) -> list[dict[str, Any]]:
    """Return by group: applications scored, share approved by the champion's score, and its ratio to the highest share.

    `ratio_low` and `ratio_high` are the ends of the 95 % interval of the ratio (Katz, on the logarithm); None where a
    count is zero. Applications without a group, and groups without a scored application, do not appear.
    """
    scored: Counter[str] = Counter()
    approved: Counter[str] = Counter()
    rows = Score.objects.filter(version__model=model, purpose=Score.DECISION).values_list("application_id", "outcome")
    for application_id, outcome in rows.iterator(chunk_size=5_000):
        group = groups.get(application_id)
        if group is not None:
            scored[group] += 1
            approved[group] += outcome == APPROVE
    if not scored:
        return []
    best = max(scored, key=lambda group: (approved[group] / scored[group], scored[group], group))
    return [
        {
            "group": group,
            "scored": scored[group],
            "approved": approved[group],
            "rate": approved[group] / scored[group],
            **_ratio(approved[group], scored[group], approved[best], scored[best]),
        }
        for group in sorted(scored)
    ]


def _ratio(hits: int, of: int, best_hits: int, best_of: int) -> dict[str, float | None]:
    if not hits or not best_hits:
        return {"ratio": 0.0 if best_hits else None, "ratio_low": None, "ratio_high": None}
    ratio = (hits / of) / (best_hits / best_of)
    spread = _Z95 * math.sqrt(1 / hits - 1 / of + 1 / best_hits - 1 / best_of)
    return {"ratio": ratio, "ratio_low": ratio * math.exp(-spread), "ratio_high": ratio * math.exp(spread)}
