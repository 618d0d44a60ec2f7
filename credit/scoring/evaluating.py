"""A version and some facts, evaluated and put into the interface's words; nothing is stored."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from credit.reasons import in_full
from credit.scoring.card import SCORED_ON
from credit.scoring.changes import changes
from credit.scoring.evaluator import Evaluation, evaluate
from credit.scoring.models import ModelVersion


def evaluate_version(version: ModelVersion, facts: Mapping[str, Any], *, today: date) -> Evaluation:
    """Evaluate a version; where the facts do not say on which day, it is today."""
    known = {name: value for name, value in facts.items() if value is not None}
    return evaluate(version.card, {SCORED_ON: today.isoformat(), **known})


def describe(version: ModelVersion, found: Evaluation) -> dict[str, Any]:
    return {
        "total": found.total,
        "outcome": found.outcome,
        "segment": found.segment,
        "points": [
            {"characteristic": one.characteristic, "bin": one.bin, "points": one.points, "baseline": one.baseline}
            for one in found.points
        ],
        "reasons": in_full(found.reasons),
        "missing": list(found.missing),
        "changes": changes(version.card, found),
    }
