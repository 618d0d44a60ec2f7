"""Find the smallest changes to an applicant's facts that lead to a better outcome, with an exact search.

A change moves a characteristic into a better bin. The search treats characteristics as independent, although a change
of a shared fact can move several characteristics at the same time.
"""

from itertools import combinations
from typing import Any, NamedTuple

from credit.core.card import APPROVE, DECLINE, REFER, Card
from credit.core.facts import has_person
from credit.scoring.evaluator import Evaluation

CHANGES_MAX = 5
_RANKS = (DECLINE, REFER, APPROVE)


class Step(NamedTuple):
    """A move of a characteristic into a better bin (both as positions), with the gained points."""

    characteristic: int
    bin: int
    gain: int


def changes(card: Card, evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return up to CHANGES_MAX of the smallest sets of one or two changes that lead to a better outcome.

    The order is: single changes before pairs, smaller gains before larger gains, then the declared order. A change that
    is sufficient alone is not part of a pair. No change moves a characteristic into the bin for missing values, or
    changes an input that the applicant can't change. The result is empty after a knockout. It is also empty for
    unreadable facts, which the applicant must correct first.
    """
    if evaluation.is_knocked_out or evaluation.unreadable:
        return []
    steps = _steps(card, evaluation)
    enough = (next((step for step in own if _is_better(card, evaluation, (step,))), None) for own in steps)
    singles = [(step,) for step in enough if step is not None]
    alone = {step.characteristic for (step,) in singles}
    sets: list[tuple[Step, ...]] = sorted(singles, key=_gain)
    if len(sets) < CHANGES_MAX:
        rest = [own for own in steps if own and own[0].characteristic not in alone]
        pairs = (_least_pair(card, evaluation, first, second) for first, second in combinations(rest, 2))
        sets += sorted((pair for pair in pairs if pair is not None), key=_gain)
    return [_describe(card, evaluation, steps) for steps in sets[:CHANGES_MAX]]


def _gain(steps: tuple[Step, ...]) -> int:
    return sum(step.gain for step in steps)


def _steps(card: Card, evaluation: Evaluation) -> list[list[Step]]:
    """Return the possible steps of each characteristic that the applicant can change, smallest gain first.

    Inputs with facts about the applicant's other applications are excluded.
    """
    mutable = {source.name for source in card.inputs if source.is_mutable and not has_person(source.facts)}
    steps = []
    for number, (characteristic, now) in enumerate(zip(card.characteristics, evaluation.points, strict=True)):
        if characteristic.input in mutable:
            is_missing = characteristic.bins[now.bin].is_missing
            better = [
                Step(number, position, choice.points - now.points)
                for position, choice in enumerate(characteristic.bins)
                if not choice.is_missing and (choice.points > now.points or (is_missing and position != now.bin))
            ]
            steps.append(sorted(better, key=lambda step: step.gain))
    return steps


def _is_better(card: Card, evaluation: Evaluation, steps: tuple[Step, ...]) -> bool:
    return _RANKS.index(_outcome(card, evaluation, steps)) > _RANKS.index(evaluation.outcome)


def _outcome(card: Card, evaluation: Evaluation, steps: tuple[Step, ...]) -> str:
    outcome = card.outcome_of(card.clip(evaluation.unclipped + _gain(steps)))
    if outcome != APPROVE or not evaluation.missing:
        return outcome
    known = {card.characteristics[step.characteristic].input for step in steps}
    return REFER if set(evaluation.missing) - known else outcome


def _least_pair(card: Card, evaluation: Evaluation, first: list[Step], second: list[Step]) -> tuple[Step, Step] | None:
    """Return the pair with the smallest sufficient gain. More points are never worse, so the time is linear."""
    best: tuple[Step, Step] | None = None
    at = len(second) - 1
    for step in first:
        while at >= 0 and _is_better(card, evaluation, (step, second[at])):
            pair = (step, second[at])
            if best is None or _gain(pair) < _gain(best):
                best = pair
            at -= 1
    return best


def _describe(card: Card, evaluation: Evaluation, steps: tuple[Step, ...]) -> dict[str, Any]:
    described = [
        {
            "characteristic": card.characteristics[step.characteristic].name,
            "input": card.characteristics[step.characteristic].input,
            "from_bin": evaluation.points[step.characteristic].bin,
            "to_bin": step.bin,
            "points": step.gain,
        }
        for step in steps
    ]
    return {"changes": described, "outcome": _outcome(card, evaluation, steps)}
