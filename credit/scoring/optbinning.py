"""Import optbinning scorecards from the CSV of `Scorecard.table`, with style `"summary"` or `"detailed"`.

Points are floats in the table but integers in the definition. Each value is rounded separately, so a total can differ
by half a point per variable.
"""

import csv
import io
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from config.core.errors import ValidationFailed
from credit.core import facts
from credit.core.reasons import OTHER, OTHER_TEXT_MAX, REASONS, Reason
from credit.scoring import definition

ROUNDINGS = {
    "half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP, "floor": ROUND_FLOOR, "ceiling": ROUND_CEILING,
    "down": ROUND_DOWN,
}  # fmt: skip
_VARIABLE, _BIN, _POINTS, _COUNT = "Variable", "Bin", "Points", "Count"
_SPECIAL, _MISSING = "Special", "Missing"
# These patterns match a numeric bin such as `[8.50, inf)`, and a string that is quoted as in Python.
_BOUNDS = re.compile(r"([\[(])([^\s,]{1,60}), ([^\s,]{1,60})\)")
_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.){0,999}+'|"(?:[^"\\\n]|\\.){0,999}+\"""")
_LENGTH = re.compile(r"^Length: ([0-9]{1,9})\b", re.MULTILINE)
_DIGITS_MAX, _PLACES_MAX = 15, 10  # the maximum digits of a threshold, as in definition.schema.json
_NUMBER = re.compile(
    r"\s{0,9}[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?\s{0,9}", re.ASCII
)
_EXACT = Context(prec=100)

Row = Mapping[str, str]


@dataclass(frozen=True)
class Terms:
    """Options of an import: the lowest totals of `outcomes`, and the `facts` and `reasons` of variables."""

    outcomes: Sequence[tuple[str, int]]
    facts: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, Reason] = field(default_factory=dict)

    def fact(self, variable: str) -> str:
        """Return the fact of a variable: from the options, otherwise a fact or a claim with the variable's name."""
        if variable in self.facts:
            return self.facts[variable]
        return variable if facts.type_of(variable) else facts.name_of(variable)

    def reason(self, variable: str) -> Reason:
        """Return the reason of a variable: from the options, by its code or text, or the variable's name as text."""
        if variable in self.reasons:
            return self.reasons[variable]
        return next(
            (code for code, text in REASONS.items() if variable in {code, text}),
            {"code": OTHER, "text": variable[:OTHER_TEXT_MAX]},
        )

    def definition(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Return a definition with the outcomes of this import. A total below all outcomes is declined."""
        if not self.outcomes:
            raise ValidationFailed(
                "The card has no outcomes. Set the lowest totals of `approve` and `refer` with --outcome."
            )
        outcomes = [{"outcome": outcome, "from": bound} for outcome, bound in self.outcomes]
        return {**parts, "outcomes": [*outcomes, {"outcome": "decline"}]}

    def check_names(self, variables: Sequence[str]) -> None:
        """Raise ValidationFailed if an option is for a variable that is not in the table."""
        for name in (*self.facts, *self.reasons):
            if name not in variables:
                raise ValidationFailed(f"The card has no variable {name[:60]!r}; it has {', '.join(variables)[:300]}.")


def read(table: bytes, terms: Terms, *, rounding: str = ROUND_HALF_EVEN, base_points: int = 0) -> dict[str, Any]:
    """Convert an optbinning table to a definition.

    `base_points` is the scorecard's `intercept_`, which the table does not contain. Strings that are not in the table
    get the points of missing values, as in optbinning. The baseline of a variable is its highest number of points.
    Raises ValidationFailed for invalid tables, and for values that a definition can't represent exactly.
    """
    variables: dict[str, list[tuple[str, Row]]] = {}
    for line, row in _rows(table):
        variables.setdefault(row[_VARIABLE], []).append((f"Line {line}", row))
    terms.check_names(list(variables))
    inputs, characteristics = [], []
    for variable, rows in variables.items():
        kind, bins = _bins(rows, rounding)
        inputs.append({"name": variable, "from": terms.fact(variable), "type": kind})
        characteristic = {"name": variable, "input": variable, "reason": terms.reason(variable)}
        best = max(choice["points"] for choice in bins if "missing" not in choice)
        characteristics.append({**characteristic, "baseline": best, "bins": bins})
    card = terms.definition({"inputs": inputs, "base_points": base_points, "characteristics": characteristics})
    definition.check(card)
    return card


def off_by_at_most(card: Mapping[str, Any], rounding: str) -> Decimal:
    """Return the maximum rounding error of a total: 0.5 or 1 point per characteristic, depending on `rounding`."""
    each = Decimal("0.5") if rounding in {ROUND_HALF_EVEN, ROUND_HALF_UP} else Decimal(1)
    return each * len(card["characteristics"])


def _rows(table: bytes) -> Iterator[tuple[int, Row]]:
    try:
        reader = csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline=""), strict=True)
        names = reader.fieldnames or ()
        if lacking := [name for name in (_VARIABLE, _BIN, _POINTS) if name not in names]:
            raise ValidationFailed(f"The file must be a table of optbinning: it lacks the column {', '.join(lacking)}.")
        for row in reader:
            if None in row or None in row.values():
                raise ValidationFailed(f"Line {reader.line_num}: the line must have as many columns as the first line.")
            yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValidationFailed(f"The file must be CSV in UTF-8: {str(error)[:100]}.") from error


def _bins(rows: list[tuple[str, Row]], rounding: str) -> tuple[str, list[dict[str, Any]]]:
    own: list[tuple[str, str, int]] = []
    missing: int | None = None
    for here, row in rows:
        points = _rounded(row[_POINTS], here, rounding)
        if row[_BIN] == _MISSING:
            missing = points
        elif row[_BIN] != _SPECIAL:
            own.append((here, row[_BIN], points))
        elif _number(row.get(_COUNT, "0"), here):
            raise ValidationFailed(f"{here}: the card has special codes, which a definition can't represent.")
    if missing is None or not own:
        raise ValidationFailed(
            f"{rows[-1][0]}: the variable must have a bin for missing values, and at least another bin."
        )
    first: dict[str, Any] = {"missing": True, "points": missing}
    if _BOUNDS.fullmatch(own[0][1]):
        return "number", [first, *_ranges(own)]
    lists = [{"in": _texts(texts, here), "points": points} for here, texts, points in own]
    return "text", [first, *lists, {"points": missing}]


def _ranges(own: list[tuple[str, str, int]]) -> Iterator[dict[str, Any]]:
    """Yield the bins of a numeric variable. They must cover minus infinity to infinity without gaps."""
    end = "-inf"
    for here, bounds_text, points in own:
        bounds = _BOUNDS.fullmatch(bounds_text)
        if not bounds or bounds[2] != end:
            where = f"at {end}, where the previous bin ends"
            raise ValidationFailed(f"{here}: the bin {bounds_text[:60]!r} does not begin {where}.")
        end = bounds[3]
        yield {"points": points} if end == "inf" else {"below": _threshold(_number(end, here)), "points": points}
    if end != "inf":
        raise ValidationFailed(f"{own[-1][0]}: the last bin ends at {end}, not at infinity.")


def _rounded(text: str, here: str, rounding: str) -> int:
    try:
        return int(_exact(text, here).quantize(Decimal(1), rounding))
    except ArithmeticError as error:
        raise ValidationFailed(f"{here}: {text[:40]!r} exceeds the possible number of points.") from error


def _texts(listed: str, here: str) -> list[str]:
    """Parse the strings of a bin, such as `['own' 'rent']`. Raises ValidationFailed for a shortened list."""
    start, end = listed.find("["), listed.rfind("]")
    texts: list[str] = []
    at = start + 1
    while at < end and start >= 0:
        if match := _TEXT.match(listed, at, end):
            try:
                texts.append(str(literal_eval(match[0])))
            except (SyntaxError, ValueError) as error:
                raise ValidationFailed(f"{here}: {match[0][:60]} must be a string.") from error
            at = match.end()
        elif listed[at].isspace() or listed[at] == ",":
            at += 1
        else:
            raise ValidationFailed(f"{here}: the values of the bin {listed[:60]!r} can't be parsed.")
    length = _LENGTH.search(listed, end + 1) if start >= 0 else None
    if not texts or (length and int(length[1]) != len(texts)):
        raise ValidationFailed(f"{here}: the bin {listed[:60]!r} must be a range or a complete list of strings.")
    return texts


def _exact(text: str, here: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValidationFailed(f"{here}: {text[:40]!r} must be a number.")
    return _EXACT.create_decimal(text.strip())


def _number(text: str, here: str) -> Decimal:
    """Parse a number. Raises ValidationFailed if a threshold of a definition can't represent the number."""
    number = _exact(text, here)
    # This check comes before formatting, because 1e999 is very long without an exponent.
    if number and number.adjusted() >= _DIGITS_MAX:
        raise ValidationFailed(f"{here}: {text[:40]!r} has more than {_DIGITS_MAX} digits before the decimal point.")
    number = number.normalize(_EXACT) if number else Decimal(0)
    if int(number.as_tuple().exponent) < -_PLACES_MAX:
        raise ValidationFailed(f"{here}: {text[:40]!r} has more than {_PLACES_MAX} digits after the decimal point.")
    return number


def _threshold(value: Decimal) -> int | str:
    return int(value) if value == value.to_integral_value() else format(value, "f")
