"""Describe the bins, inputs, and rules of a scorecard, and the differences between two definitions.

This module computes no scores. Definitions must be valid (`definition.check`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from config.backoffice.html import title_of, words
from config.core.currencies import percent_in_words, to_units
from credit.core.card import DECLINE
from credit.core.facts import catalogue
from credit.core.figures import either, money
from credit.core.reasons import text_of

Definition = Mapping[str, Any]
Writer = Callable[[Any], str]

_DECIMALS_SHOWN = 6
# The text of a fact at a path of the application's data ends with the fact's source.
_CLAIMS = {"application_data": " as claimed", "confirmed": " as confirmed"}
_AMOUNT = "an amount in the application's currency"
_TYPES = {"boolean": "yes or no", "number": "a number", "text": "a text"}
# The unit of a value is the first or the last word of its name, as in `months_employed`. In `inquiries_6_months`, the
# months are a period.
_UNIT_IN_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?:days|months)(?=_[^./]*$)|(?<=[A-Za-z]_)(?:days|months)$|(?<=_)(?:cents|percent)$"
)
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
# These are the labels of outcomes as proposals to reviewers. The outcome `refer` proposes nothing.
PROPOSALS = {"approve": "approve", "decline": "reject", "refer": "none: a reviewer decides"}


def verdict_of(outcome: str) -> str:
    """Return the reviewers' word for an outcome: "reject" for `decline`."""
    return "reject" if outcome == DECLINE else outcome


def value_in_words(value: Any) -> str:
    """Convert a boolean to yes or no, round a long decimal, and return any other value unchanged."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, Decimal):
        return str(value)
    exact, rounded = f"{value:f}", f"{value:.{_DECIMALS_SHOWN}f}"
    return f"about {rounded}" if len(exact.partition(".")[2]) > _DECIMALS_SHOWN else exact


def writers_of(definition: Definition, currency: str | None = None, *, has_currency: bool = False) -> dict[str, Writer]:
    """Return a function for each input, by name. The function formats values of the input with their unit.

    Minor units become amounts. A definition has no currency, so amounts have a currency only if `has_currency` is True.
    `currency` is `Conventions.shown_currency`.
    """

    def amount(cents: Any) -> str:
        if isinstance(cents, bool) or not isinstance(cents, int | Decimal) or cents != int(cents):
            return value_in_words(cents)
        text = money(int(cents), currency) if has_currency else f"{to_units(int(cents), None):,}"
        return text.removesuffix(".00")

    return {item["name"]: amount if _unit_of(item) == "cents" else _writer_of(item) for item in definition["inputs"]}


def _writer_of(item: Mapping[str, Any]) -> Writer:
    unit = _unit_of(item)

    def write(value: Any) -> str:
        if not unit or isinstance(value, bool):
            return value_in_words(value)
        if unit == "percent":
            return f"{value_in_words(value)}%"
        return f"{value_in_words(value)} {unit.removesuffix('s') if value == 1 else unit}"

    return _ratio_in_words if "ratio" in item else write


def _ratio_in_words(value: Any) -> str:
    percent = 100 * Decimal(str(value))
    text = f"{percent:.2f}".rstrip("0").rstrip(".")
    return f"{text}%" if Decimal(text) == percent else f"about {text}%"


def _unit_of(item: Mapping[str, Any]) -> str:
    """Return the unit of an input, or an empty string if it has none or if its facts have different units."""
    if "months_since" in item:
        return "months"
    if item.get("type", "number") != "number":
        return ""
    facts = [item["from"]] if "from" in item else [*item.get("first_of", ()), *item.get("sum", ())]
    units = {_unit_of_fact(fact) for fact in facts}
    return units.pop() if len(units) == 1 else ""


def _unit_of_fact(fact: str) -> str:
    if declared := catalogue().get(fact):
        return declared.unit or ""
    named = _UNIT_IN_NAME.search(fact)
    return named[0] if named else ""


def bins_in_words(bins: Sequence[Mapping[str, Any]], write: Writer = value_in_words) -> list[str]:
    named, lower = [], None
    for each in bins:
        if "missing" in each:
            named.append("missing")
        elif "below" in each:
            upper = write(each["below"])
            named.append(f"below {upper}" if lower is None else f"from {lower} to below {upper}")
            lower = upper
        elif "in" in each:
            named.append(either([words(value_in_words(value)) for value in each["in"]]))
        else:
            named.append("everything else" if lower is None else f"from {lower}")
    return named


def fact_in_words(fact: str) -> str:
    """Return a fact in words: `application_data.monthly_income_cents` is "monthly income as claimed"."""
    area, _, path = fact.partition(".")
    ending = _CLAIMS.get(area)
    text = title_of((path if ending else fact).replace(".", "_"))
    return f"{text if text[1:2].isupper() else text[:1].lower() + text[1:]}{ending or ''}"


def input_in_words(item: Mapping[str, Any], name: Callable[[str], str] = fact_in_words) -> str:
    """Describe the source of an input. `name` is the function that describes a fact."""
    if "ratio" in item:
        part, whole = map(name, item["ratio"])
        source = f"ratio of {part} to {whole}"
    elif "sum" in item:
        *others, last = map(name, item["sum"])
        source = f"sum of {', '.join(others)} and {last}"
    elif "months_since" in item:
        source = f"full months from {name(item['months_since'])} to the day of the score"
    else:
        facts = ", ".join(map(name, item.get("first_of", ())))
        fact = name(item["from"]) if "from" in item else f"the first present of {facts}"
        source = f"{fact}, {_AMOUNT if _unit_of(item) == 'cents' else _TYPES[item['type']]}"
    if item.get("allow_age"):
        source += "; reveals a person's age"
    return source if item.get("mutable", True) else f"{source}; the applicant cannot change it"


def knockout_in_words(rule: Mapping[str, Any], write: Writer = value_in_words) -> str:
    if "below" in rule:
        test = f"is below {write(rule['below'])}"
    elif "from" in rule:
        test = f"is {write(rule['from'])} or more"
    elif "in" in rule:
        test = f"is {either([*map(value_in_words, rule['in'])])}"
    else:
        test = f"is {write(rule['equals'])}"
    return (
        f"When {words(rule['input'])} {test}: {verdict_of(rule['outcome'])}, for any total. {text_of(rule['reason'])}."
    )


def bands_in_words(bands: Iterable[tuple[str, int | None]]) -> list[tuple[str, str]]:
    """Return the name and the range of totals of each band. The bands must be in descending order."""
    named: list[tuple[str, str]] = []
    above: int | None = None
    for name, bound in bands:
        if bound is None:
            named.append((name, "every total" if above is None else f"below {above}"))
        else:
            named.append((name, f"from {bound}" if above is None else f"from {bound} to {above - 1}"))
        above = bound
    return named


def bins_by_characteristic(definition: Definition, writers: Mapping[str, Writer] | None = None) -> dict[str, list[str]]:
    """Return the bins of each characteristic in words. By default, amounts have no currency."""
    writers = writers_of(definition) if writers is None else writers
    return {item["name"]: bins_in_words(item["bins"], writers[item["input"]]) for item in definition["characteristics"]}


def changes_in_words(
    definition: Definition, ways: Iterable[Mapping[str, Any]], writers: Mapping[str, Writer] | None = None
) -> list[str]:
    named = bins_by_characteristic(definition, writers)
    sentences = []
    for way in ways:
        steps = [
            f"{words(step['characteristic'])} “{named[step['characteristic']][step['to_bin']]}” instead of "
            f"“{named[step['characteristic']][step['from_bin']]}” ({step['points']:+d} points)"
            for step in way["changes"]
        ]
        sentences.append(f"{' and '.join(steps)}: {verdict_of(way['outcome'])}.")
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
    """Return the additions, removals, and changes between two definitions. Equal definitions have no differences."""
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
    outcomes, writers, limits = definition["outcomes"], writers_of(definition), definition.get("range")
    return [
        {
            "Base points": [str(definition["base_points"])],
            "Range of the total": [f"{limits[0]} to {limits[1]}"] if limits else [],
            "Values claimed by the applicant": ["count as missing"] if definition.get("verified") else [],
        },
        # Display the exact names of facts, because two facts can have the same words.
        {f"Input “{item['name']}”": [input_in_words(item, str)] for item in definition["inputs"]},
        {
            "Knockouts, in their order": [
                knockout_in_words(rule, writers[rule["input"]]) for rule in definition.get("knockouts", ())
            ]
        },
        {
            f"Characteristic “{item['name']}”": _characteristic_lines(item, writers[item["input"]])
            for item in definition["characteristics"]
        },
        {
            "Outcomes": _band_lines((verdict_of(each["outcome"]), each.get("from")) for each in outcomes),
            "Prices": [_price_line(price) for outcome in outcomes for price in outcome.get("prices", ())],
            "Segments": _band_lines((each["name"], each.get("from")) for each in definition.get("segments", ())),
        },
    ]


def _difference(member: str, before: Sequence[str], after: Sequence[str]) -> Difference:
    kind = CHANGED if before and after else ADDED if after else REMOVED
    old, new = ([Line(line, line not in other) for line in own] for own, other in ((before, after), (after, before)))
    return Difference(member, kind, tuple(old), tuple(new))


def _characteristic_lines(item: Mapping[str, Any], write: Writer) -> list[str]:
    named = zip(bins_in_words(item["bins"], write), item["bins"], strict=True)
    bins = [f"{name}: {each['points']} points" for name, each in named]
    return [f"reads {item['input']}", f"reason: {text_of(item['reason'])}", f"baseline: {item['baseline']}", *bins]


def _price_line(price: Mapping[str, Any]) -> str:
    most = f", at most {to_units(price['amount_max_cents'], None):,}" if "amount_max_cents" in price else ""
    return f"{percent_in_words(price['rate_percent'])} from {price['from_total']} on{most}"


def _band_lines(bands: Iterable[tuple[str, int | None]]) -> list[str]:
    return [f"{band}: {totals}" for band, totals in bands_in_words(bands)]


def _order(before: Definition, after: Definition) -> Difference | None:
    """Return the difference in the order of the characteristics that both definitions have, or None for the same order.

    The order decides ties between reasons.
    """
    names = [[item["name"] for item in each["characteristics"]] for each in (before, after)]
    shared = [[name for name in own if name in other] for own, other in (names, names[::-1])]
    if shared[0] == shared[1]:
        return None
    moved = {name for old, new in zip(*shared, strict=True) if old != new for name in (old, new)}
    first, second = (tuple(Line(name, name in moved) for name in own) for own in shared)
    return Difference("Order of the characteristics, for ties between reasons", CHANGED, first, second)
