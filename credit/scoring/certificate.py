"""The certificate of a scorecard: properties of every combination of bins, computed exactly.

A combination contains a bin for each characteristic. The counts include combinations that are impossible because inputs
share facts. The counts exclude knockouts, because each knockout has its own reason.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import inf, prod
from typing import Any

from config.core.json_text import is_safe
from credit.core.card import APPROVE, DECLINE, Card, Characteristic
from credit.core.errors import refusal_of
from credit.core.facts import category_of
from credit.core.reasons import in_full, key_of
from credit.scoring.evaluator import REASONS_MAX

# The maximum number of additions for a set of characteristics. This number of additions takes about 3 s.
_STEPS_MAX = 20_000_000
# This maps each possible total of a set of characteristics to the number of its combinations.
Sums = Mapping[int, int]


def certificate_of(card: Card) -> dict[str, Any]:
    """Compute a scorecard's certificate: the combinations, the range of totals, the reasons, and the inputs with facts.

    A reason can occur if it is a reason of a knockout, or of a combination whose total does not have the outcome
    `approve`. Counts of 2^53 or more are strings. Raises ValidationFailed for a scorecard whose points have too many
    different sums.
    """
    low, high = card.attainable
    combinations = prod(len(scored.bins) for scored in card.characteristics)
    return {
        "combinations": _exact(combinations),
        "declines": _exact(_declines(card)),
        "declines_without_reason": _exact(_declines_without_reason(card)),
        "reasons": _reasons(card),
        "total_min": low,
        "total_max": high,
        "ordered": [
            {"name": scored.input, "is_monotone": _is_monotone(scored)}
            for scored in card.characteristics
            if any(choice.below is not None for choice in scored.bins)
        ],
        "inputs": [
            {"name": source.name, "facts": list(source.facts), "categories": categories_of(source.facts)}
            for source in card.inputs
        ],
    }


def require_reasons(certificate: Mapping[str, Any]) -> None:
    """Raise ValidationFailed if the scorecard can decline without a reason."""
    lacking = certificate["declines_without_reason"]
    if lacking:
        why = (
            f"{lacking} of {certificate['declines']} combinations that decline have no reason: no "
            "characteristic is below its baseline. Raise baselines, or lower the lowest total of the outcome above "
            "`decline`."
        )
        raise refusal_of([("/definition/characteristics", why)])


def categories_of(facts: Iterable[str]) -> list[str]:
    return sorted(set(map(category_of, facts)))


def _exact(count: int) -> int | str:
    return count if is_safe(count) else str(count)


def _is_monotone(scored: Characteristic) -> bool:
    points = [choice.points for choice in scored.bins if not choice.is_missing]
    return all(a <= b for a, b in pairwise(points)) or all(a >= b for a, b in pairwise(points))


def _end_of(card: Card, *, declines: bool) -> float:
    """Return the lowest unclipped total that is not declined.

    With `declines=False`, return the lowest approved total.
    """
    if declines and card.outcomes[-1][0] != DECLINE:
        return -inf
    if declines:
        bound = card.outcomes[-2][1] if len(card.outcomes) > 1 else None
    else:
        bound = card.outcomes[0][1] if card.outcomes[0][0] == APPROVE else None
    if bound is None:
        return inf
    low, high = card.range or (-inf, inf)
    if high < bound:
        return inf
    return -inf if low >= bound else bound


def _sums(parts: Iterable[Sums]) -> Sums:
    sums: Counter[int] = Counter({0: 1})
    steps = 0
    for part in parts:
        steps += len(sums) * len(part)
        if steps > _STEPS_MAX:
            raise refusal_of([("/definition/characteristics", "The points have too many different sums. Round them.")])
        longer: Counter[int] = Counter()
        for total, ways in sums.items():
            for points, more in part.items():
                longer[total + points] += ways * more
        sums = longer
    return sums


def _points(scored: Characteristic) -> Sums:
    return Counter(choice.points for choice in scored.bins)


def _below(first: Sums, second: Sums, bound: float) -> int:
    """Count the pairs, with a sum from `first` and a sum from `second`, whose total is less than the bound."""
    totals = sorted(second)
    ways = [0, *accumulate(second[total] for total in totals)]
    return sum(count * ways[bisect_left(totals, bound - total)] for total, count in first.items())


def _declines(card: Card) -> int:
    parts = sorted(map(_points, card.characteristics), key=len)
    return _below(_sums(parts[::2]), _sums(parts[1::2]), _end_of(card, declines=True) - card.base_points)


class _Group:
    """The characteristics that share a reason: the sum of their baselines, and the possible sums of their points."""

    def __init__(self, scored: Sequence[Characteristic]) -> None:
        self.reason = scored[0].reason
        self.baseline = sum(each.baseline for each in scored)
        self.parts = [_points(each) for each in scored]
        self.least = sum(map(min, self.parts))
        self.most = sum(map(max, self.parts))
        self._sums: Sums | None = None

    def sums(self) -> Sums:
        if self._sums is None:
            self._sums = _sums(self.parts)
        return self._sums

    def least_from(self, bound: int) -> float:
        """Return the lowest possible sum that is at least `bound`, or infinity."""
        if self.least >= bound or self.most < bound:
            return self.least if self.least >= bound else inf
        return min(total for total in self.sums() if total >= bound)


def _groups(card: Card) -> list[_Group]:
    by_reason: dict[str, list[Characteristic]] = {}
    for scored in card.characteristics:
        by_reason.setdefault(key_of(scored.reason), []).append(scored)
    return [_Group(scored) for scored in by_reason.values()]


def _declines_without_reason(card: Card) -> int:
    groups, bound = _groups(card), _end_of(card, declines=True) - card.base_points
    if sum(group.least_from(group.baseline) for group in groups) >= bound:
        return 0
    parts = sorted(
        ({total: ways for total, ways in group.sums().items() if total >= group.baseline} for group in groups), key=len
    )
    return _below(_sums(parts[::2]), _sums(parts[1::2]), bound)


def _reasons(card: Card) -> list[dict[str, Any]]:
    groups, bound = _groups(card), _end_of(card, declines=False) - card.base_points
    can_occur = {key_of(group.reason): _can_occur(groups, at, bound) for at, group in enumerate(groups)}
    reasons = {key_of(group.reason): group.reason for group in groups}
    for knockout in card.knockouts:
        can_occur[key_of(knockout.reason)] = True
        reasons.setdefault(key_of(knockout.reason), knockout.reason)
    return [{**in_full([reason])[0], "can_occur": can_occur[key]} for key, reason in reasons.items()]


def _can_occur(groups: Sequence[_Group], at: int, bound: float) -> bool:
    """Return whether a total below the bound is possible with the reason of group `at` among the first REASONS_MAX.

    In the best case, the group has its largest loss, which ranks highest and makes the total lowest. The other groups
    then have as few points as possible. At most REASONS_MAX - 1 of the other groups can rank ahead. Every remaining
    group has the fewest points with which it ranks behind.
    """
    loss = groups[at].baseline - groups[at].least
    if loss <= 0:
        return False
    total: float = groups[at].least
    gains, forced = [], 0
    for position, group in enumerate(groups):
        if position == at:
            continue
        # If two losses are equal, the reason that is declared first ranks higher.
        behind = group.least_from(group.baseline - loss + (position < at))
        if behind == inf:
            forced += 1
            total += group.least
        else:
            total += behind
            gains.append(behind - group.least)
    ahead = REASONS_MAX - 1 - forced
    return ahead >= 0 and total - sum(sorted(gains, reverse=True)[:ahead]) < bound
