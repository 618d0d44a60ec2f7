"""Validate scorecard definitions against their JSON Schema, and against rules that a schema can't express."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from config.core.json_text import escaped
from credit.core import facts
from credit.core.apr import PLACES, RATE_MAX_PERCENT
from credit.core.card import APPROVE, Input, input_of, text_of
from credit.core.errors import refusal_of
from credit.core.reasons import OTHER, REASONS, faults_of, names_no_factor
from credit.scoring.prohibited import is_prohibited, names_age, names_birth

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parent / "definition.schema.json").read_text())
_REFUSALS_MAX = 20
_MESSAGE_MAX = 200
# The age from which an applicant is elderly (12 CFR 1002.2(o)).
_ELDERLY_YEARS = 62
_PROHIBITED = (
    "A credit decision must not use a fact with this name (12 CFR 1002.2(z); Directive (EU) 2023/2225, Article 18(3))."
)
_SOURCES = ("from", "first_of", "ratio", "sum", "months_since")
_TESTS = ("equals", "in", "below", "from")

_THRESHOLD = SCHEMA["$defs"]["threshold"]["pattern"]


_LIMITS = {
    "minItems": "Must have at least {} items.",
    "maxItems": "Must have at most {} items.",
    "minLength": "Must have at least {} characters.",
    "maxLength": "Must have at most {} characters.",
    "minimum": "Must be at least {}.",
    "maximum": "Must be at most {}.",
    "uniqueItems": "Must not contain a value twice.",
}

Refusal = tuple[str, str]


def check(definition: Any) -> None:
    """Raise ValidationFailed for an invalid definition. Each detail has a JSON pointer in `field`."""
    refusals = list(islice(_refusals(definition), _REFUSALS_MAX))
    if refusals:
        raise refusal_of([(f"/definition{pointer}", message[:_MESSAGE_MAX]) for pointer, message in refusals])


def _refusals(definition: Any) -> Iterator[Refusal]:
    """Yield the violations of the schema. If there are none, yield the violations of the other rules."""
    is_well_formed = True
    for error in _validator().iter_errors(definition):
        is_well_formed = False
        yield "".join(f"/{escaped(part)}" for part in error.absolute_path), _message(error)
    if is_well_formed:
        inputs: dict[str, Input] = {}
        elderly_from: dict[str, int] = {}
        yield from _inputs(definition, inputs, elderly_from)
        yield from _knockouts(definition, inputs, elderly_from)
        yield from _characteristics(definition, inputs, elderly_from)
        yield from _bounds(definition)
        for number, outcome in enumerate(definition["outcomes"]):
            yield from _prices(outcome, f"/outcomes/{number}/prices")


@cache
def _validator() -> Any:
    """Return the validator for SCHEMA. Its library loads slowly, so the function imports the library on first use."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    def items(validator: Any, items: Any, instance: Any, schema: Any) -> Any:
        """Validate the items of a list. Lists longer than `maxItems` are already an error, so they are skipped."""
        if not isinstance(instance, list) or len(instance) <= schema.get("maxItems", len(instance)):
            yield from Draft202012Validator.VALIDATORS["items"](validator, items, instance, schema)

    # JSON Schema accepts 1.0 as an integer, but scorecards have no floats.
    integer = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return extend(Draft202012Validator, {"items": items}, type_checker=integer)(SCHEMA)


def _message(error: Any) -> str:
    """Describe the expected value. The actual value can be large, so the message does not quote it."""
    wanted = error.validator_value
    if error.validator == "required":
        return f"Must have {', '.join(name for name in wanted if name not in error.instance)}."
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        extra = next(name for name in error.instance if name not in known)
        return f"Unknown field {extra[:60]!r}. Allowed: {', '.join(known)}."
    if error.validator in {"type", "enum", "const"}:
        return f"Must be {' or '.join(map(str, wanted if isinstance(wanted, list) else [wanted]))}."
    if error.validator == "pattern" and wanted != _THRESHOLD:
        return "Must not contain control characters, or others that XML does not allow."
    if error.validator in _LIMITS:
        return _LIMITS[error.validator].format(wanted)
    return (
        'Must be a number such as 3 or "0.25", without an exponent, with at most 15 digits before and 10 after the '
        "decimal point."
    )


def _inputs(definition: Mapping[str, Any], inputs: dict[str, Input], elderly_from: dict[str, int]) -> Iterator[Refusal]:
    """Check the inputs. Add valid inputs to `inputs`, and the old-age threshold of age inputs to `elderly_from`."""
    for number, declared in enumerate(definition["inputs"]):
        here = f"/inputs/{number}"
        sources = [name for name in _SOURCES if name in declared]
        if len(sources) != 1:
            yield here, f"Must have exactly one of {', '.join(_SOURCES)}."
        elif (sources[0] in {"from", "first_of"}) != ("type" in declared):
            yield here, "`type` is required with `from` and `first_of`. Otherwise, it must be absent."
        elif declared["name"] in inputs:
            yield f"{here}/name", "Must not be the name of another input."
        else:
            inputs[declared["name"]] = source = input_of(declared)
            yield from _sources(source, sources[0], f"{here}/{sources[0]}")
            if any(map(names_age, source.facts)):
                elderly_from[source.name] = _ELDERLY_YEARS * (12 if sources[0] == "months_since" else 1)
                yield from _age_input(declared, source, here)


def _sources(declared: Input, source: str, here: str) -> Iterator[Refusal]:
    for position, name in enumerate(declared.facts):
        at = f"{here}/{position}" if source in {"first_of", "ratio", "sum"} else here
        kind, wanted = facts.type_of(name), "text" if source == "months_since" else declared.kind
        if kind is None:
            known = ", ".join(facts.catalogue())
            yield at, f"Unknown fact. Allowed: application_data.…, application_data#/… and {known}."
        elif kind not in {"any", wanted}:
            yield at, f"Must be a {wanted}. This fact is a {kind}."
        elif is_prohibited(name):
            yield at, _PROHIBITED


def _age_input(declared: Mapping[str, Any], source: Input, here: str) -> Iterator[Refusal]:
    if not declared.get("allow_age"):
        message = 'This input discloses the applicant\'s age, so it requires "allow_age": true (12 CFR 1002.6(b)(2)).'
        yield here, message
    if "ratio" in declared or "sum" in declared or source.kind != "number":
        yield here, "An input that discloses an age must be a number, and must not combine the age with other facts."
    elif "months_since" not in declared and any(map(names_birth, source.facts)):
        # The age rules require that a higher number means an older person, unlike a year of birth.
        yield here, "A date or year of birth must be read with `months_since`."


def _knockouts(
    definition: Mapping[str, Any], inputs: Mapping[str, Input], elderly_from: Mapping[str, int]
) -> Iterator[Refusal]:
    for number, declared in enumerate(definition.get("knockouts", ())):
        here = f"/knockouts/{number}"
        source = inputs.get(declared["input"])
        yield from _reason(declared["reason"], source, f"{here}/reason")
        if source is None:
            yield f"{here}/input", "Must be the name of an input."
            continue
        tests = [name for name in _TESTS if name in declared]
        if len(tests) != 1:
            yield here, f"Must have exactly one of {', '.join(_TESTS)}."
        elif (tests[0] in {"below", "from"}) != (source.kind == "number"):
            yield f"{here}/{tests[0]}", f"Is not allowed for an input of the type {source.kind}."
        elif tests[0] in {"equals", "in"}:
            values = declared["in"] if tests[0] == "in" else [declared["equals"]]
            yield from _values(values, source, f"{here}/{tests[0]}")
        if source.name in elderly_from:
            yield f"{here}/input", "Age can't be a knockout (12 CFR 1002.6(b)(2))."


def _characteristics(
    definition: Mapping[str, Any], inputs: Mapping[str, Input], elderly_from: Mapping[str, int]
) -> Iterator[Refusal]:
    names: set[str] = set()
    used: set[str] = set()
    for number, declared in enumerate(definition["characteristics"]):
        here = f"/characteristics/{number}"
        yield from _reason(declared["reason"], inputs.get(declared["input"]), f"{here}/reason")
        if declared["name"] in names:
            yield f"{here}/name", "Must not be the name of another characteristic."
        if declared["input"] not in inputs:
            yield f"{here}/input", "Must be the name of an input."
            continue
        if declared["input"] in used:
            message = "This input already has a characteristic. An input can have at most one characteristic."
            yield f"{here}/input", message
        names.add(declared["name"])
        used.add(declared["input"])
        yield from _bins(declared, inputs[declared["input"]], here)
        if declared["input"] in elderly_from:
            yield from _age(declared, elderly_from[declared["input"]], here)


def _bins(characteristic: Mapping[str, Any], source: Input, here: str) -> Iterator[Refusal]:
    kinds = [[name for name in ("missing", "below", "in") if name in each] for each in characteristic["bins"]]
    for position, kind in enumerate(kinds):
        if characteristic["bins"][position].get("missing") is False:
            yield f"{here}/bins/{position}/missing", "Must be true, or absent."
            return
        if len(kind) > 1:
            yield f"{here}/bins/{position}", f"Must have at most one of {' and '.join(kind)}."
            return
        if kind == ["below" if source.kind != "number" else "in"]:
            yield f"{here}/bins/{position}/{kind[0]}", f"Is not allowed for an input of the type {source.kind}."
            return
    if kinds.count(["missing"]) != 1:
        yield f"{here}/bins", "Must have exactly one bin for missing values."
    if kinds.count([]) != 1 or [kind for kind in kinds if kind != ["missing"]][-1] != []:
        yield f"{here}/bins", "Must have exactly one bin that has only points. This bin must follow the other bins."
    numbers = [(at, Decimal(each["below"])) for at, each in enumerate(characteristic["bins"]) if "below" in each]
    for (_, lower), (position, upper) in pairwise(numbers):
        if upper <= lower:
            yield f"{here}/bins/{position}/below", "Must be above `below` of the previous bin."
    seen: set[Any] = set()
    for position, each in enumerate(characteristic["bins"]):
        yield from _values(each.get("in", ()), source, f"{here}/bins/{position}/in", seen)


def _values(values: Any, source: Input, here: str, seen: set[Any] | None = None) -> Iterator[Refusal]:
    wanted, seen = str if source.kind == "text" else bool, set() if seen is None else seen
    for value in values:
        if not isinstance(value, wanted):
            yield here, f"Must be a {source.kind}, as the input is."
            return
        choice = value if isinstance(value, bool) else text_of(value)
        if choice in seen:
            yield here, "Must not contain a value twice."
            return
        seen.add(choice)


def _age(characteristic: Mapping[str, Any], elderly_from: int, here: str) -> Iterator[Refusal]:
    bins = [each for each in characteristic["bins"] if "missing" not in each]
    best = max(each["points"] for each in bins)
    reached = [each for each in bins if "below" not in each or Decimal(each["below"]) > elderly_from]
    if any(each["points"] < best for each in reached):
        message = (
            "A higher age must not get fewer points (12 CFR 1002.6(b)(2)). Bins that reach the age of 62 must have "
            "the most points."
        )
        yield f"{here}/bins", message


def _reason(reason: Any, source: Input | None, here: str) -> Iterator[Refusal]:
    if isinstance(reason, str):
        is_reported = source is not None and all(facts.category_of(name) == facts.REPORT for name in source.facts)
        if faults_of([reason], has_report=is_reported):
            yield here, "This reason requires an input that reads only facts of a report. Use `inquiries_stated`."
        elif reason not in REASONS:
            yield here, f'Must be a principal reason: {", ".join(REASONS)}, or {{"code": "{OTHER}", "text": …}}.'
    elif names_no_factor(reason["text"]):
        message = (
            "A reason must be a specific factor (12 CFR 1002.9(b)(2)). Use the factor that the characteristic measures."
        )
        yield f"{here}/text", message
    elif reason["text"] in REASONS or reason["text"] in REASONS.values():
        # Losses are summed by the text of the reason, so that no reason appears twice.
        yield f"{here}/text", "This text is a principal reason. Send its code."


def _prices(outcome: Mapping[str, Any], here: str) -> Iterator[Refusal]:
    prices = outcome.get("prices", [])
    if prices and outcome["outcome"] != APPROVE:
        yield here, "Only `approve` can have prices."
    for number, (higher, lower) in enumerate(pairwise(prices), start=1):
        if lower["from_total"] >= higher["from_total"]:
            yield f"{here}/{number}/from_total", "Must be below the previous `from_total`."
    for number, price in enumerate(prices):
        rate = Decimal(price["rate_percent"])
        if not 0 <= rate <= RATE_MAX_PERCENT or rate != round(rate, PLACES):
            message = f"Must be from 0 to {RATE_MAX_PERCENT}, with at most {PLACES} decimal places."
            yield f"{here}/{number}/rate_percent", message


def _bounds(definition: Mapping[str, Any]) -> Iterator[Refusal]:
    outcomes, segments = definition["outcomes"], definition.get("segments", [])
    limits = definition.get("range")
    for number, outcome in enumerate(outcomes):
        if ("from" in outcome) == (number == len(outcomes) - 1):
            message = "Every outcome except the last outcome must have `from`. The last outcome must not have `from`."
            yield f"/outcomes/{number}", message
            return
    ranks = [("approve", "refer", "decline").index(outcome["outcome"]) for outcome in outcomes]
    if ranks != sorted(set(ranks)):
        yield "/outcomes", "Must be approve, refer, and decline in this order, each at most once."
    for member, bounds in (("outcomes", outcomes[:-1]), ("segments", segments)):
        for number, (higher, lower) in enumerate(pairwise(bounds), start=1):
            if lower["from"] >= higher["from"]:
                yield f"/{member}/{number}/from", "Must be below the previous `from`."
    names = [segment["name"] for segment in segments]
    if len(set(names)) != len(names):
        yield "/segments", "Each segment must have its own name."
    if limits is not None and limits[0] >= limits[1]:
        yield "/range", "Must be the lowest total, followed by a higher total."
    if outcomes[-1]["outcome"] == APPROVE:
        yield "/outcomes", "Every application would be approved. Add an outcome `refer` or `decline`."
