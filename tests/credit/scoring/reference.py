"""A second, slow computation of the changes that lead to a better outcome, directly on the definition."""

from itertools import combinations

RANKS = ["decline", "refer", "approve"]


def outcome(definition, points, missing):
    """Return the outcome for the points."""
    low, high = definition.get("range", (-(10**12), 10**12))
    total = min(max(definition["base_points"] + points, low), high)
    reached = next(item["outcome"] for item in definition["outcomes"] if "from" not in item or item["from"] <= total)
    return "refer" if reached == "approve" and missing else reached


def changes(definition, evaluation):
    """Return `(characteristics, points, outcome)` of each set of changes to name, by trying all sets."""
    if evaluation.is_knocked_out or evaluation.unreadable:
        return []
    characteristics, bins = definition["characteristics"], [each.bin for each in evaluation.points]
    points = sum(characteristic["bins"][at]["points"] for characteristic, at in zip(characteristics, bins, strict=True))
    best = {}
    for size in (1, 2):
        for chosen in combinations(range(len(characteristics)), size):
            if any({at} in map(set, best) for at in chosen):
                continue
            known = {characteristics[at]["input"] for at in chosen}
            for gain in _gains(definition, bins, chosen):
                then = outcome(definition, points + gain, set(evaluation.missing) - known)
                is_better = RANKS.index(then) > RANKS.index(evaluation.outcome)
                if is_better and (chosen not in best or gain < best[chosen][0]):
                    best[chosen] = (gain, then)
    ranked = sorted(best, key=lambda chosen: (len(chosen), best[chosen][0], chosen))
    return [(chosen, *best[chosen]) for chosen in ranked][:5]


def _input(definition, name):
    return next(item for item in definition["inputs"] if item["name"] == name)


def _gains(definition, bins, chosen):
    """Return the points that better bins of these characteristics would add, for all combinations."""
    gains = [0]
    for at in chosen:
        characteristic = definition["characteristics"][at]
        now = characteristic["bins"][bins[at]]
        own = [
            each["points"] - now["points"]
            for each in characteristic["bins"]
            if "missing" not in each and (each["points"] > now["points"] or "missing" in now)
        ]
        if not _input(definition, characteristic["input"]).get("mutable", True):
            own = []
        gains = [gain + more for gain in gains for more in own]
    return gains
