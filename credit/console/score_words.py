"""Describe the bins, inputs, and rules of a scorecard, and the differences between two definitions.

This module computes no scores. Numbers have the same format as in the definition. Definitions must be valid
(`definition.check`).
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from config.core.currencies import percent_in_words
from credit.core.figures import either
from credit.core.reasons import text_of

Definition = Mapping[str, Any]

_DECIMALS_SHOWN = 6
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
# These are the labels of outcomes as proposals to reviewers. The outcome `refer` proposes nothing.
# The reviewer's button has this label.
VERDICTS = {"decline": "reject"}
PROPOSALS = {"approve": "approve", "decline": "reject", "refer": "none: a reviewer decides"}


def value_in_words(value: Any) -> str:
    """Convert a boolean to yes or no, round a long decimal, and return any other value unchanged."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, Decimal):
        return str(value)
    exact, rounded = f"{value:f}", f"{value:.{_DECIMALS_SHOWN}f}"
    return f"about {rounded}" if len(exact.partition(".")[2]) > _DECIMALS_SHOWN else exact


def bins_in_words(bins: Sequence[Mapping[str, Any]]) -> list[str]:
    named, lower = [], None
    for each in bins:
        if "missing" in each:
            named.append("missing")
        elif "below" in each:
            upper = each["below"]
            named.append(f"below {upper}" if lower is None else f"from {lower} to below {upper}")
            lower = upper
        elif "in" in each:
            named.append(either([*map(value_in_words, each["in"])]))
        else:
            named.append("everything else" if lower is None else f"from {lower}")
    return named


def input_in_words(item: Mapping[str, Any]) -> str:
    if "ratio" in item:
        part, whole = item["ratio"]
        source = f"ratio of {part} to {whole}"
    elif "sum" in item:
        source = f"sum of {', '.join(item['sum'][:-1])} and {item['sum'][-1]}"
    elif "months_since" in item:
        source = f"full months from {item['months_since']} to the day of the score"
    else:
        fact = item["from"] if "from" in item else f"the first present of {', '.join(item['first_of'])}"
        source = f"{fact}, a {'truth (yes or no)' if item['type'] == 'boolean' else item['type']}"
    if item.get("allow_age"):
        source += "; reveals a person's age"
    return source if item.get("mutable", True) else f"{source}; the applicant cannot change it"


def knockout_in_words(rule: Mapping[str, Any]) -> str:
    if "below" in rule:
        test = f"is below {rule['below']}"
    elif "from" in rule:
        test = f"is {rule['from']} or more"
    elif "in" in rule:
        test = f"is {either([*map(value_in_words, rule['in'])])}"
    else:
        test = f"is {value_in_words(rule['equals'])}"
    return f"When {rule['input']} {test}: {rule['outcome']}, for any total. {text_of(rule['reason'])}."


def bands_in_words(bands: Iterable[tuple[str, int | None]]) -> list[tuple[str, str]]:
    """Return each name with its range of totals. The bands must be in descending order."""
    named: list[tuple[str, str]] = []
    above: int | None = None
    for name, bound in bands:
        if bound is None:
            named.append((name, "every total" if above is None else f"below {above}"))
        else:
            named.append((name, f"from {bound}" if above is None else f"from {bound} to {above - 1}"))
        above = bound
    return named


def changes_in_words(definition: Definition, ways: Iterable[Mapping[str, Any]]) -> list[str]:
    named = {item["name"]: bins_in_words(item["bins"]) for item in definition["characteristics"]}
    sentences = []
    for way in ways:
        steps = [
            f"{step['characteristic']} “{named[step['characteristic']][step['to_bin']]}” instead of "
            f"“{named[step['characteristic']][step['from_bin']]}” ({step['points']:+d} points)"
            for step in way["changes"]
        ]
        sentences.append(f"{' and '.join(steps)}: {way['outcome']}.")
    return sentences


class Line(NamedTuple):
    """A line of a definition. `differs` is true if the other definition lacks the line."""

    text: str
    differs: bool


class Difference(NamedTuple):
    """A field that differs between two definitions, with its name, the kind of change, and the two values."""

    member: str
    kind: str
    before: tuple[Line, ...]
    after: tuple[Line, ...]


def differences(before: Definition, after: Definition) -> list[Difference]:
    """Return the additions, removals, and changes between two definitions. Equal definitions have none."""
    changed = [
        _difference(member, old.get(member, []), new.get(member, []))
        for old, new in zip(_parts(before), _parts(after), strict=True)
        for member in {**old, **new}
        if old.get(member, []) != new.get(member, [])
    ]
    order = _order(before, after)
    return changed if order is None else [*changed, order]


def _parts(definition: Definition) -> list[dict[str, list[str]]]:
    """Return the lines of each field of a definition, grouped as on the page."""
    outcomes = definition["outcomes"]
    return [
        {
            "Base points": [str(definition["base_points"])],
            "Range of the total": _range_lines(definition),
            "Values claimed by the applicant": ["count as missing"] if definition.get("verified") else [],
        },
        {f"Input “{item['name']}”": [input_in_words(item)] for item in definition["inputs"]},
        {"Knockouts, in their order": [*map(knockout_in_words, definition.get("knockouts", ()))]},
        {f"Characteristic “{item['name']}”": _characteristic_lines(item) for item in definition["characteristics"]},
        {
            "Outcomes": _band_lines(outcomes, "outcome"),
            "Prices": [_price_line(price) for outcome in outcomes for price in outcome.get("prices", ())],
            "Segments": _band_lines(definition.get("segments", ()), "name"),
        },
    ]


def _difference(member: str, before: Sequence[str], after: Sequence[str]) -> Difference:
    kind = CHANGED if before and after else ADDED if after else REMOVED
    old, new = ([Line(line, line not in other) for line in own] for own, other in ((before, after), (after, before)))
    return Difference(member, kind, tuple(old), tuple(new))


def _characteristic_lines(item: Mapping[str, Any]) -> list[str]:
    named = zip(bins_in_words(item["bins"]), item["bins"], strict=True)
    bins = [f"{name}: {each['points']} points" for name, each in named]
    return [f"reads {item['input']}", f"reason: {text_of(item['reason'])}", f"baseline: {item['baseline']}", *bins]


def _range_lines(definition: Definition) -> list[str]:
    limits = definition.get("range")
    return [] if limits is None else [f"{limits[0]} to {limits[1]}"]


def _price_line(price: Mapping[str, Any]) -> str:
    most = f", at most {price['amount_max_cents']} minor units" if "amount_max_cents" in price else ""
    return f"{percent_in_words(price['rate_percent'])} from {price['from_total']} on{most}"


def _band_lines(bands: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    return [f"{band}: {totals}" for band, totals in bands_in_words((each[name], each.get("from")) for each in bands)]


def _order(before: Definition, after: Definition) -> Difference | None:
    """Return a changed order of the common characteristics, or None. The order settles ties between reasons."""
    names = [[item["name"] for item in each["characteristics"]] for each in (before, after)]
    shared = [[name for name in own if name in other] for own, other in (names, names[::-1])]
    if shared[0] == shared[1]:
        return None
    moved = {name for old, new in zip(*shared, strict=True) if old != new for name in (old, new)}
    first, second = (tuple(Line(name, name in moved) for name in own) for own in shared)
    return Difference("Order of the characteristics, for ties between reasons", CHANGED, first, second)
