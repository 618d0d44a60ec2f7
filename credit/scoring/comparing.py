"""Two versions of a model, computed on the same people: who would have been decided otherwise."""

from collections import Counter
from typing import Any

from credit.models.scoring import ModelVersion
from credit.scoring.evaluator import evaluate
from credit.scoring.monitoring import Window, scores_of

PAIRS_MAX = 10_000
FLIPS_MAX = 100


def compare(version: ModelVersion, other: ModelVersion, *, window: Window, limit: int) -> dict[str, Any]:
    """Return how `other` would have scored the newest of those whom `version` scored, from the facts that were kept.

    `table` counts pairs of outcomes, `flips` lists the newest FLIPS_MAX applications whose outcome differs, `skipped`
    counts scores whose facts are erased or lack one that `other` asks for.
    """
    found = scores_of(version, window).select_related("kept_facts").order_by("-created_at")[:limit]
    table: Counter[tuple[str, str]] = Counter()
    flips: list[dict[str, Any]] = []
    skipped = 0
    for score in found.iterator(chunk_size=1_000):
        kept = score.facts_if_kept
        facts = {} if kept is None else kept.values()
        if not other.card.facts <= facts.keys():
            skipped += 1
            continue
        theirs = evaluate(other.card, facts)
        table[score.outcome, theirs.outcome] += 1
        if score.outcome != theirs.outcome and len(flips) < FLIPS_MAX:
            flips.append(
                {
                    "application_id": str(score.application_id),
                    "total": score.total,
                    "outcome": score.outcome,
                    "with_total": theirs.total,
                    "with_outcome": theirs.outcome,
                }
            )
    rows = [
        {"outcome": outcome, "with_outcome": with_outcome, "count": count}
        for (outcome, with_outcome), count in sorted(table.items())
    ]
    return {"pairs": sum(table.values()), "table": rows, "flips": flips, "skipped": skipped}
