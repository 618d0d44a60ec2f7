"""The restricted profile of JSON Schema 2020-12 for the data of an offer's applications.

A schema describes a flat object of strings, integers, numbers, and booleans, without patterns, references, or
conditions. So a client can show the schema as a form, and validation takes linear time.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any
from unicodedata import normalize

from config.core.ids import INT64_MAX
from config.core.json_text import canonical_json, day_of
from config.core.names import clean_words
from credit.core.errors import refusal_of
from credit.core.facts import PERSON, path_of, type_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MEMBERS_MAX = 60
BYTES_MAX = 16_384  # the maximum size of the schema's canonical JSON
TITLE_MAX_LENGTH = 200
DESCRIPTION_MAX_LENGTH = 1_000
ENUM_MAX = 100
TEXT_MAX_LENGTH = 10_000
_REFUSALS_MAX = 20
_NAME_SHOWN = 60

# Field names must also be valid in the names of scorecard facts.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}", re.ASCII)
# A field with this keyword is compared with a fact.
X_FACT = "x-fact"
_ABOUT = ("type", "title", "description", X_FACT)
KEYWORDS: dict[str, tuple[str, ...]] = {
    "string": (*_ABOUT, "enum", "minLength", "maxLength", "format"),
    "integer": (*_ABOUT, "enum", "minimum", "maximum"),
    "number": (*_ABOUT, "enum", "minimum", "maximum"),
    "boolean": _ABOUT,
}
_BOUNDS = (("minLength", "maxLength"), ("minimum", "maximum"))
_ROOT = ("$schema", "type", "title", "description", "properties", "required")

Refusal = tuple[str, str]


def check(schema: Any) -> None:
    """Raise ValidationFailed if a schema violates the profile. Each detail has a JSON pointer in `field`."""
    refusals = list(islice(_refusals(schema), _REFUSALS_MAX))
    if not refusals and len(canonical_json(schema)) > BYTES_MAX:
        refusals = [("", f"Must have at most {BYTES_MAX} bytes.")]
    if refusals:
        raise refusal_of([(f"/application_schema{where}", message) for where, message in refusals])


def _refusals(schema: Any) -> Iterator[Refusal]:
    if not isinstance(schema, dict):
        yield "", "Must be a JSON Schema: an object."
        return
    yield from _unknown(schema, _ROOT, "")
    if schema.get("$schema", DIALECT) != DIALECT:
        yield "/$schema", f"Must be {DIALECT}."
    if schema.get("type") != "object":
        yield "/type", "Must be object."
    yield from _texts(schema, "")
    members = schema.get("properties")
    if not isinstance(members, dict) or not 1 <= len(members) <= MEMBERS_MAX:
        yield "/properties", f"Must be an object of 1 to {MEMBERS_MAX} fields."
        return
    for name, member in members.items():
        if _NAME.fullmatch(name) is None:
            yield "/properties", "The name of a field must have 1 to 60 letters, digits, hyphens, and underscores."
        else:
            yield from _member(member, f"/properties/{name}")
    yield from _required(schema.get("required", []), members)


def _unknown(schema: Mapping[str, Any], known: tuple[str, ...], here: str) -> Iterator[Refusal]:
    for name in schema:
        if name not in known:
            yield here, f"Unknown keyword {name[:_NAME_SHOWN]!r}. Allowed: {', '.join(known)}."


def _texts(schema: Mapping[str, Any], here: str) -> Iterator[Refusal]:
    for name, longest in (("title", TITLE_MAX_LENGTH), ("description", DESCRIPTION_MAX_LENGTH)):
        text = schema.get(name, "-")
        if not isinstance(text, str) or not text.strip() or len(text) > longest:
            yield f"{here}/{name}", f"Must be a string of 1 to {longest} characters."
        elif (why := _unreadable(text)) is not None:
            yield f"{here}/{name}", why


def _unreadable(text: str) -> str | None:
    """Return the error message for a text with bidirectional or control characters, or None."""
    try:
        for line in text.splitlines():
            if line.strip():
                clean_words(line)
    except ValueError as error:
        return str(error)
    return None


def _required(required: Any, members: Mapping[str, Any]) -> Iterator[Refusal]:
    if not isinstance(required, list) or len(required) > MEMBERS_MAX:
        yield "/required", f"Must be a list of at most {MEMBERS_MAX} names."
        return
    seen: set[str] = set()
    for number, name in enumerate(required):
        if not isinstance(name, str) or name not in members:
            yield f"/required/{number}", "Must be the name of a field in `properties`."
        elif name in seen:
            yield f"/required/{number}", "Must not be listed twice."
        else:
            seen.add(name)


def _member(member: Any, here: str) -> Iterator[Refusal]:
    if not isinstance(member, dict):
        yield here, "Must be an object."
        return
    kind = member.get("type")
    if not isinstance(kind, str) or kind not in KEYWORDS:
        yield f"{here}/type", f"Must be one of {', '.join(KEYWORDS)}."
        return
    unknown = list(_unknown(member, KEYWORDS[kind], here))
    # The checks below require a known type.
    if unknown:
        yield from unknown
        return
    yield from _texts(member, here)
    fact = member.get(X_FACT, "bank.as_of")
    if not isinstance(fact, str) or type_of(fact) is None or path_of(fact) or fact.startswith(PERSON):
        yield f"{here}/{X_FACT}", "Must be a fact of `GET /v1/scoring/facts`, such as `bank.income_monthly_cents`."
    if "format" in member and member["format"] != "date":
        yield f"{here}/format", "Must be date."
    for low, high in _BOUNDS:
        wrong = [name for name in (low, high) if name in member and not _is_bound(name, member[name], kind)]
        for name in wrong:
            yield f"{here}/{name}", _wanted(name, kind)
        if not wrong and low in member and high in member and member[low] > member[high]:
            yield f"{here}/{low}", f"Must not be greater than {high}."
    if "enum" in member:
        yield from _enum(member, kind, f"{here}/enum")


def _is_bound(name: str, value: Any, kind: str) -> bool:
    if name in {"minLength", "maxLength"}:
        return type(value) is int and 0 <= value <= TEXT_MAX_LENGTH
    return _KINDS[kind](value) and abs(value) <= INT64_MAX


def _wanted(name: str, kind: str) -> str:
    if name in {"minLength", "maxLength"}:
        return f"Must be an integer from 0 to {TEXT_MAX_LENGTH}."
    return f"Must be {_A[kind]} within 64 bits."


def _enum(member: Mapping[str, Any], kind: str, here: str) -> Iterator[Refusal]:
    values = member["enum"]
    if not isinstance(values, list) or not 1 <= len(values) <= ENUM_MAX:
        yield here, f"Must be a list of 1 to {ENUM_MAX} values."
        return
    rest = {name: value for name, value in member.items() if name != "enum"}
    bounds = [name for both in _BOUNDS for name in both if name in member]
    if not all(_is_bound(name, member[name], kind) for name in bounds):
        # This error is already reported.
        return
    seen: set[Any] = set()
    for number, value in enumerate(values):
        if (why := fault(rest, value)) is not None:
            yield f"{here}/{number}", why
        elif _in_nfc(value) in seen:
            yield f"{here}/{number}", "Must not be listed twice."
        else:
            seen.add(_in_nfc(value))


def _in_nfc(value: Any) -> Any:
    return normalize("NFC", value) if isinstance(value, str) else value


def is_same(value: Any, other: Any) -> bool:
    """Return whether two values are equal by JSON Schema. Strings are compared in NFC."""
    return isinstance(value, bool) == isinstance(other, bool) and bool(_in_nfc(value) == _in_nfc(other))


def _is_integer(value: Any) -> bool:
    """Return whether a value is an integer by JSON Schema. For example, 1.0 is an integer."""
    return type(value) is int or (type(value) is float and value.is_integer())


def _is_number(value: Any) -> bool:
    return type(value) in {int, float} and math.isfinite(value)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
}
_A = {"string": "a text", "integer": "an integer", "number": "a number", "boolean": "true or false"}


def fault(member: Mapping[str, Any], value: Any) -> str | None:
    """Return the error message of a value that violates the schema of its field, or None.

    The message never contains the value.
    """
    return next(_faults(member, value), None)


def _faults(member: Mapping[str, Any], value: Any) -> Iterator[str]:
    kind = member["type"]
    if not _KINDS[kind](value):
        yield f"Must be {_A[kind]}."
    if "enum" in member and _in_nfc(value) not in map(_in_nfc, member["enum"]):
        yield "Must be one of the values of its `enum`."
    if member.get("format") == "date" and day_of(value) is None:
        yield "Must be a date such as 2026-01-31."
    if "minLength" in member and len(value) < member["minLength"]:
        yield f"Must have at least {member['minLength']} character(s)."
    if "maxLength" in member and len(value) > member["maxLength"]:
        yield f"Must have at most {member['maxLength']} characters."
    if "minimum" in member and value < member["minimum"]:
        yield f"Must be at least {member['minimum']}."
    if "maximum" in member and value > member["maximum"]:
        yield f"Must be at most {member['maximum']}."


def members_of(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the fields of a schema by name."""
    members: Mapping[str, Any] = (schema or {}).get("properties", {})
    return members


def title_of(name: str, member: Mapping[str, Any]) -> str:
    title: str = member.get("title") or name.replace("_", " ").replace("-", " ").capitalize()
    return title
