"""A card of optbinning as a definition: the CSV of `Scorecard.table(style="summary")`, or of `"detailed"`.

Its points are floats; here they are integers. Each is rounded by itself, so that a total can be off by half a point for
each variable at most.
"""

import csv
import io
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from config.core.errors import ValidationFailed
from credit.scoring import definition
from credit.scoring.foreign import Terms, best, exact, number, threshold

ROUNDINGS = {
    "half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP, "floor": ROUND_FLOOR, "ceiling": ROUND_CEILING,
    "down": ROUND_DOWN,
}  # fmt: skip
BYTES_MAX = 4_194_304
_VARIABLE, _BIN, _POINTS, _COUNT = "Variable", "Bin", "Points", "Count"
_SPECIAL, _MISSING = "Special", "Missing"
# A number of a bin: 8.50, inf. Texts stand in quotes, as Python writes them; pandas adds how many there are.
_BOUNDS = re.compile(r"([\[(])([^\s,]{1,60}), ([^\s,]{1,60})\)")
_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.){0,999}+'|"(?:[^"\\\n]|\\.){0,999}+\"""")
_LENGTH = re.compile(r"^Length: ([0-9]{1,9})\b", re.MULTILINE)

Row = Mapping[str, str]


def read(table: bytes, terms: Terms, *, rounding: str = ROUND_HALF_EVEN, base_points: int = 0) -> dict[str, Any]:
    """Return the definition of a table; raise ValidationFailed for what is none, or cannot be said exactly.

    `base_points` is the card's `intercept_`, which the table does not have. A text that the table does not list has the
    points of what is missing, as optbinning gives it. The baseline is each variable's most points.
    """
    variables: dict[str, list[tuple[str, Row]]] = {}
    for line, row in _rows(table):
        variables.setdefault(row[_VARIABLE], []).append((f"Line {line}", row))
    terms.check_names(list(variables))
    inputs, characteristics = [], []
    for variable, rows in variables.items():
        kind, bins = _bins(rows, rounding)
        inputs.append({"name": variable, "from": terms.fact(variable), "type": kind})
        given = {"name": variable, "input": variable, "reason": terms.reason(variable, variable)}
        characteristics.append({**given, "baseline": best(bins), "bins": bins})
    found = terms.definition({"inputs": inputs, "base_points": base_points, "characteristics": characteristics})
    definition.check(found)
    return found


def off_by_at_most(found: Mapping[str, Any], rounding: str) -> Decimal:
    """Return how far rounding can put a total off: half a point for each characteristic, or a whole one."""
    each = Decimal("0.5") if rounding in {ROUND_HALF_EVEN, ROUND_HALF_UP} else Decimal(1)
    return each * len(found["characteristics"])


def _rows(table: bytes) -> Iterator[tuple[int, Row]]:
    if len(table) > BYTES_MAX:
        raise ValidationFailed(f"The file is larger than {BYTES_MAX} bytes.")
    try:
        reader = csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline=""), strict=True)
        names = reader.fieldnames or ()
        if lacking := [name for name in (_VARIABLE, _BIN, _POINTS) if name not in names]:
            raise ValidationFailed(f"The file is no table of optbinning: it has no column {', '.join(lacking)}.")
        for row in reader:
            if None in row or None in row.values():
                raise ValidationFailed(f"Line {reader.line_num}: has not as many columns as the first line.")
            yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValidationFailed(f"The file is no CSV in UTF-8: {str(error)[:100]}.") from error


def _bins(rows: list[tuple[str, Row]], rounding: str) -> tuple[str, list[dict[str, Any]]]:
    own: list[tuple[str, str, int]] = []
    missing: int | None = None
    for here, row in rows:
        points = _rounded(row[_POINTS], here, rounding)
        if row[_BIN] == _MISSING:
            missing = points
        elif row[_BIN] != _SPECIAL:
            own.append((here, row[_BIN], points))
        elif number(row.get(_COUNT, "0"), here):
            raise ValidationFailed(f"{here}: the card has special codes; a definition has none.")
    if missing is None or not own:
        raise ValidationFailed(f"{rows[-1][0]}: the variable lacks a bin for what is missing, or has no other.")
    first: dict[str, Any] = {"missing": True, "points": missing}
    if _BOUNDS.fullmatch(own[0][1]):
        return "number", [first, *_ranges(own)]
    lists = [{"in": _texts(given, here), "points": points} for here, given, points in own]
    return "text", [first, *lists, {"points": missing}]


def _ranges(own: list[tuple[str, str, int]]) -> Iterator[dict[str, Any]]:
    """Yield the bins of a number, which begin at minus infinity, follow one another, and end at infinity."""
    end = "-inf"
    for here, given, points in own:
        bounds = _BOUNDS.fullmatch(given)
        if not bounds or bounds[2] != end:
            where = f"at {end}, where the one before it ends"
            raise ValidationFailed(f"{here}: the bin {given[:60]!r} does not begin {where}.")
        end = bounds[3]
        yield {"points": points} if end == "inf" else {"below": threshold(number(end, here)), "points": points}
    if end != "inf":
        raise ValidationFailed(f"{own[-1][0]}: the last bin ends at {end}, not at infinity.")


def _rounded(text: str, here: str, rounding: str) -> int:
    try:
        return int(exact(text, here).quantize(Decimal(1), rounding))
    except ArithmeticError as error:
        raise ValidationFailed(f"{here}: {text[:40]!r} are too many points.") from error


def _texts(given: str, here: str) -> list[str]:
    """Return the texts that a bin lists, `['own' 'rent']`; a list that was shortened is refused."""
    start, end = given.find("["), given.rfind("]")
    found: list[str] = []
    at = start + 1
    while at < end and start >= 0:
        if match := _TEXT.match(given, at, end):
            try:
                found.append(str(literal_eval(match[0])))
            except (SyntaxError, ValueError) as error:
                raise ValidationFailed(f"{here}: {match[0][:60]} is no text.") from error
            at = match.end()
        elif given[at].isspace() or given[at] == ",":
            at += 1
        else:
            raise ValidationFailed(f"{here}: the bin {given[:60]!r} lists its values in a way that cannot be read.")
    length = _LENGTH.search(given, end + 1) if start >= 0 else None
    if not found or (length and int(length[1]) != len(found)):
        raise ValidationFailed(f"{here}: the bin {given[:60]!r} is neither a range nor a whole list of texts.")
    return found
