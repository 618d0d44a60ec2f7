"""Parse a scorecard's definition into inputs, bins, and thresholds, and apply them to facts.

Numbers are integers and decimals, never floats. Strings are compared in Unicode NFC. The definition must have passed
`definition.check`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from math import isfinite
from typing import Any, NamedTuple
from unicodedata import normalize

from config.core.json_text import day_of

# This fact is the day of the score, such as `2026-01-31`. `months_since` counts up to this day.
SCORED_ON = "scored_on"
APPROVE, REFER, DECLINE = "approve", "refer", "decline"
_CLAIMED = re.compile(r"application_data[.#]")
# Ratios are rounded half to even to this precision. It is far finer than any threshold.
_EXACT = Context(prec=50)

Facts = Mapping[str, Any]


def number_of(value: Any) -> Decimal | None:
    """Convert a JSON number to an exact decimal. Return None for infinity and for other types."""
    if type(value) is int:
        return Decimal(value)
    return Decimal(repr(value)) if type(value) is float and isfinite(value) else None


def text_of(value: Any) -> str | None:
    """Normalize a string to NFC, because keyboards encode words differently. Return None for other types."""
    return normalize("NFC", value) if isinstance(value, str) else None


def _truth_of(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_READERS: Mapping[str, Callable[[Any], Any]] = {"number": number_of, "text": text_of, "boolean": _truth_of}


def is_claimed(fact: str) -> bool:
    """Return whether a fact is a claim of the applicant: a path below `application_data`."""
    return _CLAIMED.match(fact) is not None


class Input(NamedTuple):
    """An input of a scorecard. `read` returns the input's value from facts, or None if the value is missing.

    `read_fact` converts the value of a single fact, or returns None. `facts` are the names of the input's facts. For a
    verified scorecard, `facts` excludes claims. With `is_first`, `read` returns the first readable fact.
    """

    name: str
    kind: str
    facts: tuple[str, ...]
    read: Callable[[Facts], Any]
    read_fact: Callable[[Any], Any]
    is_mutable: bool
    is_first: bool
    # `claim` is the claim in `first_of`, if any. `is_amount` is true for amounts in the minor unit of the offer's
    # currency.
    claim: str | None
    is_amount: bool

    def used(self, facts: Facts) -> list[str]:
        """Return the names of the facts on which the input's value depends."""
        readable = [name for name in self.facts if self.read_fact(facts.get(name)) is not None]
        return readable[:1] if self.is_first else readable

    def unreadable(self, facts: Facts) -> list[str]:
        """Return the names of facts that are present but have the wrong type for the input.

        Facts after the first readable fact of `first_of` are ignored.
        """
        wrong = []
        for name in self.facts:
            if self.read_fact(facts.get(name)) is not None:
                if self.is_first:
                    break
            elif facts.get(name) is not None:
                wrong.append(name)
        return wrong


def input_of(declared: Mapping[str, Any], *, is_verified: bool = False) -> Input:
    """Parse an input's declaration. In a verified scorecard, claims count as missing."""
    named = names_of(declared)
    names = tuple(name for name in named if not (is_verified and is_claimed(name)))
    read_fact: Callable[[Any], Any]
    read: Callable[[Facts], Any]
    if "type" in declared:
        kind = declared["type"]
        read_fact = _READERS[kind]
        read = lambda facts: _first(read_fact, names, facts)  # noqa: E731
    elif "months_since" in declared:
        kind, read_fact = "number", day_of
        read = lambda facts: _months(_first(day_of, names, facts), day_of(facts.get(SCORED_ON)))  # noqa: E731
    else:
        kind, read_fact = "number", number_of
        combine = _ratio if "ratio" in declared else _sum
        is_whole = len(names) == len(named)
        read = lambda facts: combine([number_of(facts.get(name)) for name in names]) if is_whole else None  # noqa: E731
    is_first = "first_of" in declared
    claim = next(filter(is_claimed, named), None) if is_first else None
    is_number = kind == "number" and "ratio" not in declared and "months_since" not in declared
    is_amount = is_number and all(name.endswith("_cents") for name in named)
    return Input(
        declared["name"], kind, names, read, read_fact, declared.get("mutable", True), is_first, claim, is_amount
    )


def names_of(declared: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of the facts that an input declares."""
    for source in ("from", "months_since"):
        if source in declared:
            return (declared[source],)
    names: Sequence[str] = declared.get("first_of") or declared.get("ratio") or declared["sum"]
    return names


def _first(read_fact: Callable[[Any], Any], names: Iterable[str], facts: Facts) -> Any:
    """Return the first readable value among these facts, or None."""
    return next((value for name in names if (value := read_fact(facts.get(name))) is not None), None)


def _ratio(numbers: Sequence[Decimal | None]) -> Decimal | None:
    part, whole = numbers
    return None if part is None or not whole else _EXACT.divide(part, whole)


def _sum(numbers: Sequence[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for number in numbers:
        if number is None:
            return None
        total = _EXACT.add(total, number)
    return total


def _months(since: date | None, until: date | None) -> Decimal | None:
    """Return the whole months between two days, or None if a day is unknown or the first day is later."""
    if since is None or until is None or since > until:
        return None
    months = 12 * (until.year - since.year) + until.month - since.month
    return Decimal(months - (until.day < since.day))


class Bin(NamedTuple):
    """A bin. A bin for numbers has `below`. A bin for strings or booleans has `values`. The open bin has neither."""

    points: int
    is_missing: bool
    below: Decimal | None
    values: frozenset[Any] | None


class Characteristic(NamedTuple):
    name: str
    input: str
    reason: Any
    baseline: int
    bins: tuple[Bin, ...]
    # `missing` is the position of the bin for missing values.
    missing: int

    def bin_of(self, value: Any) -> int:
        if value is None:
            return self.missing
        for position, candidate in enumerate(self.bins):
            if candidate.below is not None:
                takes = value < candidate.below
            else:
                takes = not candidate.is_missing if candidate.values is None else value in candidate.values
            if takes:
                return position
        raise AssertionError("A card has an open bin.")


class Knockout(NamedTuple):
    input: str
    holds: Callable[[Any], bool]
    outcome: str
    reason: Any


class Price(NamedTuple):
    """The note rate and the maximum amount for scores with a total of at least `from_total`."""

    from_total: int
    rate_percent: Decimal
    amount_max_cents: int | None


@dataclass(frozen=True, slots=True)
class Card:
    """A parsed scorecard. `facts` are the names of all facts that the scorecard reads.

    A verified scorecard reads no claims.
    """

    inputs: tuple[Input, ...]
    knockouts: tuple[Knockout, ...]
    base_points: int
    characteristics: tuple[Characteristic, ...]
    outcomes: tuple[tuple[str, int | None], ...]
    # The prices of approvals are sorted by descending total.
    prices: tuple[Price, ...]
    segments: tuple[tuple[str, int], ...]
    range: tuple[int, int] | None
    facts: frozenset[str]

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> "Card":
        is_verified = definition.get("verified", False)
        inputs = tuple(input_of(declared, is_verified=is_verified) for declared in definition["inputs"])
        limits = definition.get("range")
        return cls(
            inputs=inputs,
            knockouts=tuple(map(_knockout_of, definition.get("knockouts", ()))),
            base_points=definition["base_points"],
            characteristics=tuple(map(_characteristic_of, definition["characteristics"])),
            outcomes=tuple((outcome["outcome"], outcome.get("from")) for outcome in definition["outcomes"]),
            prices=tuple(
                Price(price["from_total"], Decimal(price["rate_percent"]), price.get("amount_max_cents"))
                for outcome in definition["outcomes"]
                for price in outcome.get("prices", ())
            ),
            segments=tuple((segment["name"], segment["from"]) for segment in definition.get("segments", ())),
            range=None if limits is None else (limits[0], limits[1]),
            facts=frozenset(name for source in inputs for name in source.facts),
        )

    def knockout_of(self, facts: Facts) -> Knockout | None:
        """Return the first knockout that applies to these facts, or None."""
        values = {source.name: source.read(facts) for source in self.inputs}
        held = (
            knockout
            for knockout in self.knockouts
            if values[knockout.input] is not None and knockout.holds(values[knockout.input])
        )
        return next(held, None)

    def clip(self, total: int) -> int:
        return total if self.range is None else max(self.range[0], min(self.range[1], total))

    @property
    def attainable(self) -> tuple[int, int]:
        """The lowest and highest totals that are possible with any facts."""
        points = [[choice.points for choice in each.bins] for each in self.characteristics]
        return self.clip(self.base_points + sum(map(min, points))), self.clip(self.base_points + sum(map(max, points)))

    @property
    def limits(self) -> tuple[int, int]:
        return self.range or self.attainable

    def price_of(self, total: int) -> Price | None:
        """Return the price with the highest `from_total` that the total reaches, or None."""
        return next((price for price in self.prices if total >= price.from_total), None)

    def outcome_of(self, total: int) -> str:
        """Return the outcome of a total that is limited to the range of the scorecard. Knockouts are not considered."""
        return next(outcome for outcome, bound in self.outcomes if bound is None or total >= bound)


def _choices(values: Sequence[Any]) -> frozenset[Any]:
    return frozenset(value if isinstance(value, bool) else text_of(value) for value in values)


def _characteristic_of(declared: Mapping[str, Any]) -> Characteristic:
    bins = tuple(
        Bin(
            points=choice["points"],
            is_missing="missing" in choice,
            below=Decimal(choice["below"]) if "below" in choice else None,
            values=_choices(choice["in"]) if "in" in choice else None,
        )
        for choice in declared["bins"]
    )
    missing = next(position for position, choice in enumerate(bins) if choice.is_missing)
    return Characteristic(declared["name"], declared["input"], declared["reason"], declared["baseline"], bins, missing)


def _knockout_of(declared: Mapping[str, Any]) -> Knockout:
    if "below" in declared:
        bound = Decimal(declared["below"])
        return Knockout(declared["input"], lambda value: value < bound, declared["outcome"], declared["reason"])
    if "from" in declared:
        bound = Decimal(declared["from"])
        return Knockout(declared["input"], lambda value: value >= bound, declared["outcome"], declared["reason"])
    values = _choices(declared["in"] if "in" in declared else [declared["equals"]])
    return Knockout(declared["input"], lambda value: value in values, declared["outcome"], declared["reason"])
