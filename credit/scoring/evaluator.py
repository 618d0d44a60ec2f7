"""Evaluate a scorecard exactly and without side effects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from credit.core.card import APPROVE, REFER, Card, Facts, Knockout
from credit.core.reasons import key_of

REASONS_MAX = 4


class Points(NamedTuple):
    """The result of a characteristic: the position and the points of the bin, and the baseline."""

    characteristic: str
    bin: int
    points: int
    baseline: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of a scorecard for given facts. `reasons` are principal reasons, most important first.

    `missing` are the names of missing inputs. `unclipped` is the total before it is clipped to the scorecard's range.
    `unreadable` are the names of facts with a wrong type. The inputs of these facts are also in `missing`.
    """

    total: int
    unclipped: int
    outcome: str
    segment: str | None
    points: tuple[Points, ...]
    reasons: tuple[Any, ...]
    missing: tuple[str, ...]
    unreadable: tuple[str, ...]
    is_knocked_out: bool


def evaluate(card: Card, facts: Facts) -> Evaluation:
    """Evaluate a scorecard. Facts that are absent, null, or of the wrong type count as missing.

    If a fact has the wrong type and no knockout applies, the outcome is `refer`.
    """
    values = {source.name: source.read(facts) for source in card.inputs}
    knockout = card.knockout_of(facts)
    points = tuple(
        Points(scored.name, position, scored.bins[position].points, scored.baseline)
        for scored in card.characteristics
        for position in (scored.bin_of(values[scored.input]),)
    )
    unclipped = card.base_points + sum(scored.points for scored in points)
    total = card.clip(unclipped)
    used = {scored.input for scored in card.characteristics} | {rule.input for rule in card.knockouts}
    sources = [source for source in card.inputs if source.name in used]
    missing = tuple(source.name for source in sources if values[source.name] is None)
    unreadable = tuple(dict.fromkeys(name for source in sources for name in source.unreadable(facts)))
    outcome = card.outcome_of(total) if knockout is None else knockout.outcome
    if knockout is None and (unreadable or (missing and outcome == APPROVE)):
        outcome = REFER
    return Evaluation(
        total=total,
        unclipped=unclipped,
        outcome=outcome,
        segment=next((name for name, bound in card.segments if total >= bound), None),
        points=points,
        reasons=_reasons(card, points, knockout),
        missing=missing,
        unreadable=unreadable,
        is_knocked_out=knockout is not None,
    )


def _reasons(card: Card, points: Sequence[Points], knockout: Knockout | None) -> tuple[Any, ...]:
    """Return up to four reasons: the knockout's reason, then the reasons with the largest summed losses."""
    losses: dict[Any, int] = {}
    reasons: dict[Any, Any] = {}
    for characteristic, scored in zip(card.characteristics, points, strict=True):
        key = key_of(characteristic.reason)
        reasons.setdefault(key, characteristic.reason)
        losses[key] = losses.get(key, 0) + scored.baseline - scored.points
    ranked = sorted((key for key, loss in losses.items() if loss > 0), key=lambda key: -losses[key])
    first = [] if knockout is None else [knockout.reason]
    rest = [reasons[key] for key in ranked if not first or key != key_of(first[0])]
    return tuple([*first, *rest][:REASONS_MAX])
