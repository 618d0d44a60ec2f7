"""A scorecard as people read it: bins, inputs and rules in plain words, and how two definitions differ.

Nothing here computes a score. Numbers stand as the definition writes them. Definitions are ones that
`definition.check` has passed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from credit.core.figures import either
from credit.core.reasons import text_of

Definition = Mapping[str, Any]

_DECIMALS_SHOWN = 6
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
# Labels of an outcome that is proposed to reviewers; `refer` proposes nothing.
PROPOSALS = {"approve": "approve", "decline": "reject", "refer": "none, a person has to look"}


def value_in_words(value: Any) -> str:
    """Return a truth as yes or no, a long decimal rounded, anything else as it is written."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, Decimal):
        return str(value)
    exact, rounded = f"{value:f}", f"{value:.{_DECIMALS_SHOWN}f}"
    return f"about {rounded}" if len(exact.partition(".")[2]) > _DECIMALS_SHOWN else exact


def bins_in_words(bins: Sequence[Mapping[str, Any]]) -> list[str]:
    named, lower = [], None
    for one in bins:
        if "missing" in one:
            named.append("missing")
        elif "below" in one:
            upper = one["below"]
            named.append(f"below {upper}" if lower is None else f"from {lower} to below {upper}")
            lower = upper
        elif "in" in one:
            named.append(either([*map(value_in_words, one["in"])]))
        else:
            named.append("everything else" if lower is None else f"from {lower}")
    return named


def input_in_words(given: Mapping[str, Any]) -> str:
    if "ratio" in given:
        part, whole = given["ratio"]
        source = f"ratio of {part} to {whole}"
    elif "sum" in given:
        source = f"sum of {', '.join(given['sum'][:-1])} and {given['sum'][-1]}"
    elif "months_since" in given:
        source = f"whole months from {given['months_since']} to the day of the score"
    else:
        source = f"{given['from']}, a {'truth (yes or no)' if given['type'] == 'boolean' else given['type']}"
    if given.get("allow_age"):
        source += "; tells a person's age"
    return source if given.get("mutable", True) else f"{source}; the person cannot change it"


def knockout_in_words(given: Mapping[str, Any]) -> str:
    if "below" in given:
        test = f"is below {given['below']}"
    elif "from" in given:
        test = f"is {given['from']} or more"
    elif "in" in given:
        test = f"is {either([*map(value_in_words, given['in'])])}"
    else:
        test = f"is {value_in_words(given['equals'])}"
    return f"When {given['input']} {test}: {given['outcome']}, for any total. {text_of(given['reason'])}."


def bands_in_words(bands: Iterable[tuple[str, int | None]]) -> list[tuple[str, str]]:
    """Return names with the totals that each takes, of bands that go from the highest bound down."""
    named: list[tuple[str, str]] = []
    above: int | None = None
    for name, bound in bands:
        if bound is None:
            named.append((name, "every total" if above is None else f"below {above}"))
        else:
            named.append((name, f"from {bound}" if above is None else f"from {bound} to {above - 1}"))
        above = bound
    return named


def changes_in_words(definition: Definition, found: Iterable[Mapping[str, Any]]) -> list[str]:
    named = {one["name"]: bins_in_words(one["bins"]) for one in definition["characteristics"]}
    sentences = []
    for one in found:
        steps = [
            f"{step['characteristic']} “{named[step['characteristic']][step['to_bin']]}” instead of "
            f"“{named[step['characteristic']][step['from_bin']]}” ({step['points']:+d} points)"
            for step in one["changes"]
        ]
        sentences.append(f"{' and '.join(steps)}: {one['outcome']}.")
    return sentences


class Line(NamedTuple):
    """A line of one side; `differs` when the other side has no such line."""

    text: str
    differs: bool


class Difference(NamedTuple):
    """A member that two definitions do not share: what it is, what happened to it, and both sides."""

    member: str
    kind: str
    before: tuple[Line, ...]
    after: tuple[Line, ...]


def differences(before: Definition, after: Definition) -> list[Difference]:
    """Return what was added, removed and changed from one definition to another; nothing for equal ones."""
    found = [
        _difference("Base points", [str(before["base_points"])], [str(after["base_points"])]),
        _difference("Range of the total", _range_lines(before), _range_lines(after)),
        *_by_name("Input", before["inputs"], after["inputs"], lambda one: [input_in_words(one)]),
        _difference("Knockouts, in their order", _knockout_lines(before), _knockout_lines(after)),
        *_by_name("Characteristic", before["characteristics"], after["characteristics"], _characteristic_lines),
        _order(before, after),
        _difference("Outcomes", _band_lines(before, "outcome"), _band_lines(after, "outcome")),
        _difference("Prices", _price_lines(before), _price_lines(after)),
        _difference("Segments", _band_lines(before, "name"), _band_lines(after, "name")),
    ]
    return [one for one in found if one is not None]


def _difference(member: str, before: Sequence[str], after: Sequence[str]) -> Difference | None:
    if list(before) == list(after):
        return None
    kind = CHANGED if before and after else ADDED if after else REMOVED
    old, new = ([Line(line, line not in other) for line in own] for own, other in ((before, after), (after, before)))
    return Difference(member, kind, tuple(old), tuple(new))


def _by_name(
    what: str, before: Iterable[Any], after: Iterable[Any], lines: Callable[[Any], list[str]]
) -> list[Difference | None]:
    old, new = ({one["name"]: lines(one) for one in own} for own in (before, after))
    return [_difference(f"{what} “{name}”", old.get(name, []), new.get(name, [])) for name in {**old, **new}]


def _characteristic_lines(given: Mapping[str, Any]) -> list[str]:
    named = zip(bins_in_words(given["bins"]), given["bins"], strict=True)
    bins = [f"{name}: {one['points']} points" for name, one in named]
    return [f"reads {given['input']}", f"reason: {text_of(given['reason'])}", f"baseline: {given['baseline']}", *bins]


def _knockout_lines(definition: Definition) -> list[str]:
    return [knockout_in_words(one) for one in definition.get("knockouts", ())]


def _range_lines(definition: Definition) -> list[str]:
    limits = definition.get("range")
    return [] if limits is None else [f"{limits[0]} to {limits[1]}"]


def _price_lines(definition: Definition) -> list[str]:
    prices = [price for one in definition["outcomes"] for price in one.get("prices", ())]
    return [
        f"{one['rate_percent']} % from {one['from_total']} on"
        + (f", at most {one['amount_max_cents']} cents" if "amount_max_cents" in one else "")
        for one in prices
    ]


def _band_lines(definition: Definition, name: str) -> list[str]:
    bands = definition["outcomes"] if name == "outcome" else definition.get("segments", ())
    return [f"{one}: {totals}" for one, totals in bands_in_words((each[name], each.get("from")) for each in bands)]


def _order(before: Definition, after: Definition) -> Difference | None:
    """Return a change of the order of the characteristics that both have: it settles ties between reasons."""
    names = [[one["name"] for one in each["characteristics"]] for each in (before, after)]
    shared = [[name for name in own if name in other] for own, other in (names, names[::-1])]
    if shared[0] == shared[1]:
        return None
    moved = {name for old, new in zip(*shared, strict=True) if old != new for name in (old, new)}
    first, second = (tuple(Line(name, name in moved) for name in own) for own in shared)
    return Difference("Order of the characteristics, which settles ties between reasons", CHANGED, first, second)
