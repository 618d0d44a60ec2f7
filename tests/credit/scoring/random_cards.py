"""Random scorecards that may be kept, and random facts for them that hit every threshold."""

from credit.core.reasons import REASONS

REASON_CODES = sorted(REASONS)[:6]
PATHS = [f"application_data.{name}" for name in ("income", "debt", "rent", "since", "housing", "works")]
NUMBERS = [
    0, 1, -1, 3, 100, 10**12, 2**63, 0.1, 0.2, 0.30000000000000004, 1e-300, -1e-300, -1e-20, 1e300, 1e15, -0.0, 2.5,
    33.3,
]  # fmt: skip
THRESHOLDS = [-1, 0, "0.1", "0.3", "0.3333333333", 1, "2.5", 3, "33.3", 100, 10**12]
WORDS = ["own", "rent", "", "é", "zoo ", "2026-01-31"]
DAYS = ["2026-01-31", "2025-12-31", "2024-02-29", "2026-02-01", "2026-W05-6", "20260131", "2026-02-30", "0001-01-01"]
ODD = [None, True, False, "1", [], "zoo\n"]


def card(random):
    """A definition that `definition.check` passes."""
    inputs = [_input(random, number) for number in range(random.randint(1, 6))]
    used = random.sample(inputs, random.randint(1, len(inputs)))
    top = random.randint(-50, 300)
    names = [["approve", "refer", "decline"], ["approve", "decline"], ["refer", "decline"], ["decline"], ["refer"]]
    outcomes = [{"outcome": name, "from": top - 40 * at} for at, name in enumerate(random.choice(names))]
    del outcomes[-1]["from"]
    made = {
        "inputs": inputs, "base_points": random.randint(-100, 200),
        "characteristics": [_characteristic(random, one) for one in used], "outcomes": outcomes,
        "knockouts": [_knockout(random, random.choice(inputs)) for _ in range(random.choice([0, 0, 1, 3]))],
    }  # fmt: skip
    if random.random() < 0.5:
        made["range"] = [random.randint(-100, 50), random.randint(51, 200)]
    return made


def _input(random, number):
    name, kind = (
        f"input {number}",
        random.choice(["number", "number", "text", "boolean", "ratio", "sum", "months_since"]),
    )
    if kind == "ratio":
        return {"name": name, "ratio": random.sample(PATHS[:3], 2)}
    if kind == "sum":
        return {"name": name, "sum": random.sample(PATHS[:3], random.randint(2, 3))}
    if kind == "months_since":
        return {"name": name, "months_since": PATHS[3]}
    return {"name": name, "from": random.choice(PATHS), "type": kind}


def _kind(one):
    return one.get("type", "number")


def _reason(random):
    if random.random() < 0.2:
        return {"code": "other", "text": random.choice(["Too new", "Too far"])}
    return random.choice(REASON_CODES)


def _points(random):
    return random.choice([-30, 0, 5, 10, 10, 25, 60])


def _characteristic(random, one):
    bins = []
    if _kind(one) == "number":
        chosen = sorted(random.sample(range(len(THRESHOLDS)), random.randint(0, 4)))
        bins = [{"below": THRESHOLDS[at], "points": _points(random)} for at in chosen]
    else:
        values = WORDS if _kind(one) == "text" else [True, False]
        for value in random.sample(values, random.randint(0, len(values))):
            bins.append({"in": [value], "points": _points(random)})
    bins.append({"points": _points(random)})
    bins.insert(random.randint(0, len(bins) - 1), {"missing": True, "points": _points(random)})
    return {
        "name": f"of {one['name']}", "input": one["name"], "reason": _reason(random), "baseline": _points(random),
        "bins": bins,
    }  # fmt: skip


def _knockout(random, one):
    if _kind(one) == "number":
        test = {random.choice(["below", "from"]): random.choice(THRESHOLDS)}
    else:
        values = WORDS if _kind(one) == "text" else [True, False]
        one_or_more = {"equals": random.choice(values)}, {"in": random.sample(values, 2)}
        test = random.choice(one_or_more)
    return {"input": one["name"], "outcome": random.choice(["refer", "decline"]), "reason": _reason(random), **test}


def facts(random):
    """Flat facts: some absent, some of another type than the card asks for."""
    given = {"scored_on": random.choice(DAYS[:4])}
    for path in PATHS:
        if random.random() < 0.85:
            given[path] = random.choice(random.choice([NUMBERS, NUMBERS, WORDS, DAYS, [True, False], ODD]))
    return given
