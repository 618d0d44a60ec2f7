"""The rules of a scorecard once more, slowly and plainly, on the definition itself and on fractions."""

from datetime import date
from fractions import Fraction
from itertools import combinations
from unicodedata import normalize

from credit.core.reasons import key_of

RANKS = ["decline", "refer", "approve"]


def nfc(value):
    return normalize("NFC", value) if isinstance(value, str) else value


def number(value):
    return Fraction(repr(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None


def day(value):
    try:
        return date(*map(int, value.split("-")))
    except (AttributeError, TypeError, ValueError):
        return None


def value_of(given, facts):
    if "from" in given:
        value = facts.get(given["from"])
        if given["type"] == "number":
            return number(value)
        return nfc(value) if isinstance(value, {"text": str, "boolean": bool}[given["type"]]) else None
    if "ratio" in given:
        part, whole = (number(facts.get(name)) for name in given["ratio"])
        return part / whole if part is not None and whole else None
    if "sum" in given:
        parts = [number(facts.get(name)) for name in given["sum"]]
        return None if None in parts else sum(parts)
    then, now = day(facts.get(given["months_since"])), day(facts.get("scored_on"))
    if then is None or now is None or then > now:
        return None
    months = 0
    while (then.year * 12 + then.month + months, then.day) <= (now.year * 12 + now.month, now.day):
        months += 1
    return months - 1


def bin_of(characteristic, value):
    bins = characteristic["bins"]
    if value is None:
        return next(at for at, one in enumerate(bins) if "missing" in one)
    for at, one in enumerate(bins):
        if "missing" not in one and (
            ("below" in one and value < Fraction(one["below"]))
            or ("in" in one and value in map(nfc, one["in"]))
            or not {"below", "in"} & set(one)
        ):
            return at
    raise AssertionError


def holds(knockout, value):
    if value is None:
        return False
    return (
        ("equals" in knockout and value == nfc(knockout["equals"]))
        or ("in" in knockout and value in map(nfc, knockout["in"]))
        or ("below" in knockout and value < Fraction(knockout["below"]))
        or ("from" in knockout and value >= Fraction(knockout["from"]))
    )


def unreadable(given, facts):
    """Say whether a fact is there that is not of the type that the input reads."""
    names = given.get("ratio") or given.get("sum") or [given.get("from") or given["months_since"]]
    kinds = {"number": number, "text": lambda value: None if not isinstance(value, str) else value}
    kinds["boolean"] = lambda value: value if isinstance(value, bool) else None
    read = day if "months_since" in given else kinds[given.get("type", "number")]
    return any(facts.get(name) is not None and read(facts[name]) is None for name in names)


def outcome(definition, points, missing, odd=False):
    """Return the total and the outcome of so many points."""
    low, high = definition.get("range", (-(10**12), 10**12))
    total = min(max(definition["base_points"] + points, low), high)
    found = next(one["outcome"] for one in definition["outcomes"] if "from" not in one or one["from"] <= total)
    return total, "refer" if odd or (found == "approve" and missing) else found


def evaluate(definition, facts):
    """Return `(total, outcome, segment, bins, reasons, missing)`."""
    values = {one["name"]: value_of(one, facts) for one in definition["inputs"]}
    knockouts, characteristics = definition.get("knockouts", []), definition["characteristics"]
    asked = {one["input"] for one in (*characteristics, *knockouts)}
    missing = [one["name"] for one in definition["inputs"] if one["name"] in asked and values[one["name"]] is None]
    bins = [bin_of(one, values[one["input"]]) for one in characteristics]
    points = [one["bins"][at]["points"] for one, at in zip(characteristics, bins, strict=True)]
    odd = any(one["name"] in asked and unreadable(one, facts) for one in definition["inputs"])
    total, found = outcome(definition, sum(points), missing, odd)
    codes = [key_of(one["reason"]) for one in characteristics]
    losses = {
        code: sum(
            one["baseline"] - own for one, own, each in zip(characteristics, points, codes, strict=True) if each == code
        )
        for code in codes
    }
    reasons = sorted((code for code in losses if losses[code] > 0), key=lambda code: (-losses[code], codes.index(code)))
    held = [one for one in knockouts if holds(one, values[one["input"]])]
    if held:
        found, first = held[0]["outcome"], key_of(held[0]["reason"])
        reasons = [first, *(code for code in reasons if code != first)]
    segment = next((one["name"] for one in definition.get("segments", []) if one["from"] <= total), None)
    return total, found, segment, bins, reasons[:4], missing


def changes(definition, facts):
    """Return `(characteristics, points, outcome)` of each set of changes that is named, by trying all."""
    _, now, _, bins, _, missing = evaluate(definition, facts)
    if any(holds(one, value_of(_input(definition, one["input"]), facts)) for one in definition.get("knockouts", [])):
        return []
    asked = {one["input"] for one in (*definition["characteristics"], *definition.get("knockouts", []))}
    if any(one["name"] in asked and unreadable(one, facts) for one in definition["inputs"]):
        return []
    characteristics = definition["characteristics"]
    points = sum(one["bins"][at]["points"] for one, at in zip(characteristics, bins, strict=True))
    best = {}
    for size in (1, 2):
        for chosen in combinations(range(len(characteristics)), size):
            if any({at} in map(set, best) for at in chosen):
                continue
            known = {characteristics[at]["input"] for at in chosen}
            for gain in _gains(definition, bins, chosen):
                _, then = outcome(definition, points + gain, set(missing) - known)
                if RANKS.index(then) > RANKS.index(now) and (chosen not in best or gain < best[chosen][0]):
                    best[chosen] = (gain, then)
    ranked = sorted(best, key=lambda chosen: (len(chosen), best[chosen][0], chosen))
    return [(chosen, *best[chosen]) for chosen in ranked][:5]


def _input(definition, name):
    return next(one for one in definition["inputs"] if one["name"] == name)


def _gains(definition, bins, chosen):
    """Return the points that better bins of these characteristics would bring, of all combinations."""
    gains = [0]
    for at in chosen:
        one = definition["characteristics"][at]
        now = one["bins"][bins[at]]
        own = [
            each["points"] - now["points"]
            for each in one["bins"]
            if "missing" not in each and (each["points"] > now["points"] or "missing" in now)
        ]
        if not _input(definition, one["input"]).get("mutable", True):
            own = []
        gains = [gain + more for gain in gains for more in own]
    return gains
