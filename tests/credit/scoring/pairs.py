"""Random scorecards, with facts that hit every threshold exactly, are just below it, or are missing."""

from datetime import date, timedelta
from decimal import Decimal
from math import inf, nextafter

TODAY = date(2026, 3, 28)
CODES = [
    "income_insufficient", "obligations_excessive", "residence_short", "employment_short", "no_credit_file",
    {"code": "other", "text": 'Words <of> our "own" & more'}, {"code": "other", "text": "Wörter"},
]  # fmt: skip
WORDS = [
    "own", "rent", "family", "with spaces in it", " padded ", 'q"uoted', "back\\slash", "ends\\", "", "<tag> & co",
    "ü€𝄞", "'", "true", "0.5", "None",
]  # fmt: skip
KINDS = (
    "number",
    "number",
    "number",
    "ratio",
    "sum",
    "months_since",
    "text",
    "text",
    "boolean",
    "first_of",
    "first_of",
)
# Each kind of input has a JSON value of a wrong type.
OTHER_TYPES = {"number": "12", "text": 5, "boolean": "true", "months_since": "yesterday", "ratio": True, "sum": "1"}


def card(chance, *, reasons=CODES, points=8):
    """Return a random definition, and its samples: for each characteristic a list of `(facts, fields)`.

    `fields` are the inputs for another engine. Few points and reasons cause ties and shared reasons.
    """
    inputs, characteristics, samples = [], [], []
    for number in range(chance.randint(1, 9)):
        kind, name = chance.choice(KINDS), f"input <{number}> é"
        source, bins, own = MAKERS[kind](chance, f"application_data.f{number}", name)
        inputs.append({"name": name, **source, "mutable": chance.random() < 0.8})
        for item in bins:
            item["points"] = chance.randint(-points, points)
        # The missing bin is anywhere before the open bin.
        bins.insert(chance.randint(0, len(bins) - 1), {"missing": True, "points": chance.randint(-points, points)})
        characteristics.append(
            {
                "name": f'"{number}" & 1', "input": name, "reason": chance.choice(reasons),
                "baseline": chance.randint(-points, points), "bins": bins,
            }
        )  # fmt: skip
        samples.append(own)
    low = chance.randint(-20, 20)
    outcomes = [{"outcome": "approve", "from": low + chance.randint(1, 30)}, {"outcome": "refer", "from": low}]
    definition = {
        "inputs": inputs, "base_points": chance.randint(-30, 30), "characteristics": characteristics,
        "outcomes": [*outcomes[chance.randint(0, 1) :], {"outcome": "decline"}],
    }  # fmt: skip
    return definition, samples


def with_rules(chance, definition):
    """Return a copy of the definition with random rules that PMML can't express: knockouts, segments, and a range.

    About a tenth of the copies are also `verified`.
    """
    knockouts = []
    for item in chance.sample(definition["inputs"], min(len(definition["inputs"]), chance.randint(0, 2))):
        kind = item.get("type", "number")
        tests = {
            "number": [{"below": chance.randint(-99, 99)}, {"from": "1.5"}],
            "text": [{"in": chance.sample(WORDS, 2)}, {"equals": chance.choice(WORDS)}],
            "boolean": [{"equals": chance.random() < 0.5}, {"in": [True]}],
        }[kind]
        outcome = chance.choice(["refer", "decline"])
        knockouts.append(
            {"input": item["name"], **chance.choice(tests), "outcome": outcome, "reason": chance.choice(CODES)}
        )
    low = chance.randint(-40, 20)
    more = {
        "knockouts": knockouts,
        "segments": [{"name": "prime", "from": low + 10}, {"name": "near <&> prime", "from": low}],
        "range": [low, low + chance.randint(1, 60)],
    }
    verified = {"verified": True} if chance.random() < 0.1 else {}
    return {**definition, **{name: more[name] for name in more if chance.random() < 0.7}, **verified}


def rows_of(chance, samples):
    """Return rows of `(facts, fields)` in which each sample of each characteristic appears."""
    shuffled = [chance.sample(own, len(own)) for own in samples]
    rows = []
    for number in range(max(map(len, samples))):
        facts, fields = {"scored_on": TODAY.isoformat()}, {}
        for own in shuffled:
            more_facts, more_fields = own[number] if number < len(own) else chance.choice(own)
            facts |= more_facts
            fields |= more_fields
        rows.append((facts, fields))
    return rows


def _same(fact, value):
    return {fact: value}, {fact: value}


def _nothing(chance, fact, kind):
    return chance.choice([({}, {}), ({fact: None}, {}), ({fact: OTHER_TYPES[kind]}, {})])


def _thresholds(chance, digits):
    drawn = {Decimal(chance.randint(-5000, 50_000)).scaleb(-chance.choice(digits)) for _ in range(chance.randint(0, 5))}
    return sorted(drawn)


def _below(bound):
    return {"below": int(bound) if bound == int(bound) else format(bound, "f")}


def _bins(thresholds):
    return [*map(_below, thresholds), {}]


def _number(chance, fact, _name):
    thresholds = _thresholds(chance, (0, 1, 2, 4))
    own = [_same(fact, 0), _same(fact, -0.0), _same(fact, 1e300), _same(fact, 5e-324), _nothing(chance, fact, "number")]
    for bound in thresholds:
        exact = int(bound) if bound == int(bound) and chance.random() < 0.5 else float(bound)
        own += [_same(fact, exact), _same(fact, nextafter(exact, -inf)), _same(fact, nextafter(exact, inf))]
    return {"from": fact, "type": "number"}, _bins(thresholds), own


def _ratio(chance, fact, _name):
    part, whole = f"{fact}.part", f"{fact}.whole"
    thresholds = _thresholds(chance, (1, 2, 4))
    own = [
        _same(part, 5), _same(whole, 5), ({part: 5, whole: 0},) * 2, ({part: 0, whole: -0.0},) * 2,
        ({part: OTHER_TYPES["ratio"], whole: 3}, {whole: 3}), ({part: 7, whole: 3},) * 2,
    ]  # fmt: skip
    for bound in thresholds:
        divisor = 10_000 * chance.randint(1, 900)
        own += [({part: int(bound * divisor) + step, whole: divisor},) * 2 for step in (0, -1, 1)]
    return {"ratio": [part, whole]}, _bins(thresholds), own


def _sum(chance, fact, _name):
    names = [f"{fact}.n{number}" for number in range(chance.randint(2, 10))]
    thresholds = _thresholds(chance, (0,))
    zeros = dict.fromkeys(names, 0)
    lacking = dict.fromkeys(names[1:], 0)
    own = [(zeros, zeros), ({}, {}), (lacking, lacking), ({**lacking, names[-1]: OTHER_TYPES["sum"]}, {})]
    for bound in thresholds:
        for step in (0, -1, 1):
            values = {name: chance.randint(-(10**9), 10**9) for name in names[:-1]}
            values[names[-1]] = int(bound) + step - sum(values.values())
            own.append((values, values))
    return {"sum": names}, _bins(thresholds), own


def _months(chance, fact, name):
    thresholds = sorted({Decimal(chance.randint(1, 500)) for _ in range(chance.randint(0, 4))})
    ahead = TODAY + timedelta(days=1)
    own = [_nothing(chance, fact, "months_since"), ({fact: ahead.isoformat()}, {}), ({fact: "2026-02-30"}, {})]
    own.append(({fact: TODAY.isoformat()}, {name: 0}))
    for bound in map(int, thresholds):
        then = date(TODAY.year - bound // 12 - (bound % 12 >= TODAY.month), (TODAY.month - bound - 1) % 12 + 1, 28)
        own.append(({fact: then.isoformat()}, {name: bound}))
        own.append(({fact: (then + timedelta(days=1)).isoformat()}, {name: bound - 1}))
    return {"months_since": fact}, _bins(thresholds), own


def _text(chance, fact, _name):
    words = chance.sample(WORDS, chance.randint(0, len(WORDS) - 1))
    bins = []
    left = list(words)
    while left:
        taken = chance.randint(1, len(left))
        bins.append({"in": left[:taken]})
        left = left[taken:]
    own = [_same(fact, word) for word in (*words, "unlisted", "OWN", "own ")]
    return {"from": fact, "type": "text"}, [*bins, {}], [*own, _nothing(chance, fact, "text")]


def _boolean(chance, fact, _name):
    bins = chance.choice(
        [[{"in": [True]}], [{"in": [False]}], [{"in": [True]}, {"in": [False]}], [{"in": [False, True]}]]
    )
    own = [_same(fact, True), _same(fact, False), _nothing(chance, fact, "boolean"), ({fact: 1}, {})]
    return {"from": fact, "type": "boolean"}, [*bins, {}], own


def _first_of(chance, fact, name):
    """Return an input that uses the first present fact of three numbers or texts."""
    kind = chance.choice(("number", "text"))
    source, bins, own = MAKERS[kind](chance, fact, name)
    names = [f"{fact}.{letter}" for letter in "abc"]
    samples = []
    for facts, fields in own:
        at = chance.randrange(3)
        wrong = {each: OTHER_TYPES[kind] for each in names[:at] if chance.random() < 0.3}
        used = {} if fact not in facts else {names[at]: facts[fact]}
        samples.append(({**dict.fromkeys(names), **wrong, **used}, {names[at]: fields[fact]} if fields else {}))
        if fields:
            after = dict.fromkeys(names[at:], fields[fact])
            later = {**after, names[-1]: chance.choice(own)[0].get(fact)} if at < 2 else after
            known = {name: value for name, value in later.items() if type(value) is type(fields[fact])}
            samples.append(({**dict.fromkeys(names), **later}, known))
    return {"first_of": names, "type": source["type"]}, bins, samples


MAKERS = {
    "number": _number, "ratio": _ratio, "sum": _sum, "months_since": _months, "text": _text, "boolean": _boolean,
    "first_of": _first_of,
}  # fmt: skip
