"""A PMML 4.4 Scorecard as a definition: one that `pmml.write` wrote, or another program's.

What the standard allows and a definition cannot say exactly is refused, with a sentence that names the element: points
that are no integers or are computed, thresholds that belong to the bin below them, values that are replaced, clamped or
left without points, reasons that change from bin to bin, losses measured upwards.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any
from xml.etree.ElementTree import Element

import orjson

from config.core.errors import ValidationFailed
from config.core.json_text import is_deeper
from credit.scoring import definition, pmml, xml_text
from credit.scoring.foreign import Terms, best, number, threshold
from credit.scoring.pmml_predicates import MISSING, UNNAMED, Asked, Field, Holds, children, holds_of, local, refuse

_KINDS = {"integer": "number", "double": "number", "string": "text", "boolean": "boolean"}
_CHARACTERISTICS_MAX, _ATTRIBUTES_MAX, _ARGUMENTS_MAX = 100, 51, 10
_JSON_DEPTH_MAX = 10
_LEFT_ALONE = {"Output", "ModelStats", "ModelExplanation", "ModelVerification", "MiningSchema", "LocalTransformations"}


def read(document: bytes, terms: Terms | None = None) -> dict[str, Any]:
    """Return the definition of a document; raise ValidationFailed for what is none.

    `terms` say what PMML cannot about a card that is not ours. One of ours needs none: it has them in its Extension.
    """
    root = xml_text.parse(document)
    if local(root) != "PMML":
        raise ValidationFailed(f"The file is no PMML 4.4: its root is not PMML of {pmml.NAMESPACE}.")
    models = [one for one in children(root) if one.find("{*}MiningSchema") is not None]
    if len(models) != 1 or local(models[0]) != "Scorecard":
        raise ValidationFailed("PMML: needs one model, a Scorecard.")
    card = models[0]
    kept = _kept(card)
    if kept is not None and terms is not None:
        raise ValidationFailed("The card has outcomes, facts and reasons of its own in its Extension.")
    found = _foreign(root, card, terms or Terms(outcomes=())) if kept is None else kept
    definition.check(found)
    if kept is not None:
        _hold_against(root, card, kept)
    return found


def _kept(card: Element) -> Any:
    """Return the definition in the Extension that `pmml.write` wrote, None where there is none."""
    for one in card.iterfind(f"{{{pmml.NAMESPACE}}}Extension"):
        if (one.get("extender"), one.get("name")) == (pmml.EXTENDER, pmml.EXTENSION):
            text = (one.text or "").encode()
            try:
                if not is_deeper(text, _JSON_DEPTH_MAX):
                    return orjson.loads(text)
            except orjson.JSONDecodeError:
                pass
            refuse("PMML/Scorecard/Extension", "holds no definition")
    return None


def _hold_against(root: Element, card: Element, kept: Mapping[str, Any]) -> None:
    """Refuse a card that says something else than the definition beside it: nobody would know which of them counts."""
    wanted = xml_text.parse(pmml.write(kept, name=card.get("modelName", "")))
    for name in ("DataDictionary", "Scorecard"):
        given, expected = (one.find(f"{{{pmml.NAMESPACE}}}{name}") for one in (root, wanted))
        where = None if given is None or expected is None else _difference(given, expected, f"PMML/{name}")
        if where is not None or given is None:
            why = "differs from the definition in the Extension; without the Extension the card is read as it stands"
            refuse(where or f"PMML/{name}", why)


def _difference(given: Element, expected: Element, here: str) -> str | None:
    if given.tag != expected.tag or given.attrib != expected.attrib or len(given) != len(expected):
        return here
    if local(given) != "Extension" and (given.text or "").strip() != (expected.text or "").strip():
        return here
    for position, (one, other) in enumerate(zip(given, expected, strict=True), start=1):
        if where := _difference(one, other, f"{here}/{local(one)}[{position}]"):
            return where
    return None


def _foreign(root: Element, card: Element, terms: Terms) -> dict[str, Any]:
    here = "PMML/Scorecard"
    if card.get("functionName") != "regression" or card.get("isScorable", "true") not in {"true", "1"}:
        refuse(here, "is not for scoring: needs functionName regression, and not isScorable false")
    for one in children(card):
        if local(one) not in {*_LEFT_ALONE, "Characteristics"}:
            refuse(f"{here}/{local(one) or one.tag}", "cannot be said in a definition")
    fields = dict(_fields(root, card, terms))
    fields |= _derived(root, card, fields)
    has_reasons = card.get("useReasonCodes", "true") in {"true", "1"}
    if has_reasons and card.get("reasonCodeAlgorithm", "pointsBelow") != "pointsBelow":
        refuse(here, "has the reasonCodeAlgorithm pointsAbove; losses are points below the baseline")
    given = [one for group in children(card, "Characteristics") for one in children(group)]
    if len(given) > _CHARACTERISTICS_MAX:
        refuse(f"{here}/Characteristics", f"has more than {_CHARACTERISTICS_MAX} members")
    inputs: dict[str, Any] = {}
    characteristics = []
    for position, one in enumerate(given, start=1):
        at = f"{here}/Characteristics/Characteristic[{position}]"
        field, characteristic = _characteristic(one, at, fields, card if has_reasons else None, terms)
        inputs[field.name] = {"name": field.name, **field.source}
        characteristics.append(characteristic)
    terms.check_names([*fields, *(one["name"] for one in characteristics)])
    base_points = _points(card.get("initialScore", "0"), f"{here}/@initialScore")
    parts = {"inputs": list(inputs.values()), "base_points": base_points, "characteristics": characteristics}
    return terms.definition(parts)


def _points(text: str, here: str) -> int:
    found = number(text, here)
    if found != found.to_integral_value():
        refuse(here, f"{text[:40]!r} is no integer; points are")
    return int(found)


def _fields(root: Element, card: Element, terms: Terms) -> Iterator[tuple[str, Field]]:
    declared = {one.get("name", ""): one for one in root.iterfind("{*}DataDictionary/{*}DataField")}
    for position, mining in enumerate(card.iterfind("{*}MiningSchema/{*}MiningField"), start=1):
        name, here = mining.get("name", ""), f"PMML/Scorecard/MiningSchema/MiningField[{position}]"
        if mining.get("usageType", "active") != "active":
            continue
        for attribute in ("missingValueReplacement", "invalidValueReplacement", "lowValue", "highValue", "optype"):
            if attribute in mining.attrib:
                refuse(here, f"has {attribute}: values are taken as they are")
        invalid = mining.get("invalidValueTreatment", "returnInvalid")
        if mining.get("outliers", "asIs") != "asIs" or invalid not in {"returnInvalid", "asMissing", "asIs"}:
            refuse(here, "changes outliers or invalid values: values are taken as they are")
        if mining.get("missingValueTreatment") == "returnInvalid":
            refuse(here, "has no result for a missing value; a definition has one")
        if name not in declared:
            refuse(here, f"names {name[:60]!r}, which is in no DataField")
        yield name, _field(declared[name], terms, is_invalid_missing=invalid == "asMissing")


def _field(declared: Element, terms: Terms, *, is_invalid_missing: bool) -> Field:
    name = declared.get("name", "")
    here = f"PMML/DataDictionary/DataField {name[:60]!r}"
    data_type = declared.get("dataType", "")
    if data_type not in _KINDS:
        refuse(here, f"is a {data_type[:40]!r}; can be {', '.join(_KINDS)}")
    kind, listed = _KINDS[data_type], []
    for one in children(declared):
        if local(one) != "Value" or one.get("property", "valid") != "valid" or kind != "text":
            why = "says which values are valid or missing: values are taken as they are"
            refuse(f"{here}/{local(one) or one.tag}", why)
        listed.append(one.get("value", ""))
    source = {"from": terms.fact(name), "type": kind}
    return Field(name, kind, source, data_type == "integer", tuple(listed), bool(listed) and is_invalid_missing)


def _derived(root: Element, card: Element, fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the derived fields, which are ratios and sums as `pmml.write` says them."""
    found: dict[str, Field] = {}
    for path in ("TransformationDictionary", "LocalTransformations"):
        for one in (root if path == "TransformationDictionary" else card).iterfind(f"{{*}}{path}/{{*}}DerivedField"):
            name = one.get("name", "")
            here = f"PMML/{path}/DerivedField {name[:60]!r}"
            parts = list(children(one))
            if len(parts) != 1 or one.get("dataType") != "double":
                refuse(here, "needs one expression, and the dataType double")
            found[name] = Field(name, "number", _expression(parts[0], fields, here))
    return found


def _expression(given: Element, fields: Mapping[str, Field], here: str) -> dict[str, Any]:
    """Return the members of the input that a derived field becomes."""
    ratio = _ratio(given)
    kind, names = ("sum", _sum(given)) if ratio is None else ("ratio", ratio)
    if names is None:
        refuse(here, "is neither a sum by `+` nor a ratio that is missing over zero and over what is missing")
    for name in names:
        if name not in fields or fields[name].kind != "number":
            refuse(here, f"is made of {name[:60]!r}, which is no active field that is a number")
    return {kind: [fields[name].source["from"] for name in names]}


def _ratio(given: Element) -> list[str] | None:
    """Return the two fields of what `pmml.write` writes for a ratio, None of anything else."""
    fields = [one.get("field", "") for one in given.iter(f"{{{pmml.NAMESPACE}}}FieldRef")]
    if len(fields) != 4:
        return None
    wanted = pmml.ratio_of(fields[2], fields[3], parent=Element(f"{{{pmml.NAMESPACE}}}DerivedField"))
    return fields[2:] if _difference(given, wanted, "Apply") is None else None


def _sum(given: Element) -> list[str] | None:
    """Return the fields that are added, None of anything else."""
    names: list[str] = []
    waiting = [given]
    while waiting and len(names) <= _ARGUMENTS_MAX:
        one = waiting.pop()
        parts = list(children(one))
        if local(one) == "FieldRef" and one.attrib.keys() == {"field"}:
            names.append(one.attrib["field"])
        elif local(one) == "Apply" and one.attrib == {"function": "+"} and len(parts) == 2:
            waiting += reversed(parts)
        else:
            return None
    return names if 2 <= len(names) <= _ARGUMENTS_MAX else None


def _characteristic(
    given: Element, here: str, fields: dict[str, Field], reasons: Element | None, terms: Terms
) -> tuple[Field, dict[str, Any]]:
    """Return a characteristic with the field that it asks; `reasons` is the card where it gives reasons."""
    attributes = list(children(given, "Attribute"))
    if not 1 <= len(attributes) <= _ATTRIBUTES_MAX or len(attributes) != len(list(children(given))):
        refuse(here, f"needs 1 to {_ATTRIBUTES_MAX} Attributes, and nothing else")
    asked, tests, points, codes = Asked(fields), [], [], set()
    for position, one in enumerate(attributes, start=1):
        at = f"{here}/Attribute[{position}]"
        predicates = list(children(one))
        if "partialScore" not in one.attrib or len(predicates) != 1:
            refuse(at, "needs a partialScore and one predicate; a score that is computed cannot be said")
        tests.append(holds_of(predicates[0], at, asked))
        points.append(_points(one.attrib["partialScore"], f"{at}/@partialScore"))
        codes.add(one.get("reasonCode", given.get("reasonCode", "")))
    if asked.field is None:
        refuse(here, "asks no field")
    field, bins = asked.field, _bins(tests, points, asked, here)
    name = given.get("name") or field.name
    if reasons is None:
        said, baseline = name, best(bins)
    else:
        if len(codes) != 1 or not (said := codes.pop()):
            refuse(here, "needs one reasonCode, the same for all its Attributes")
        bound = given.get("baselineScore", reasons.get("baselineScore"))
        if bound is None:
            refuse(here, "needs a baselineScore, its own or the Scorecard's")
        baseline = _points(bound, f"{here}/@baselineScore")
    told = next((one for one in (name, field.name) if one in terms.reasons), field.name)
    characteristic = {"name": name, "input": field.name, "reason": terms.reason(told, said), "baseline": baseline}
    return field, {**characteristic, "bins": bins}


def _bins(tests: list[Holds], points: list[int], asked: Asked, here: str) -> list[dict[str, Any]]:
    """Return the bins that say what the attributes do: a value belongs to the first attribute that takes it."""

    def first(value: Any) -> int | None:
        return next((position for position, holds in enumerate(tests) if holds(value)), None)

    def attribute(value: Any, what: str) -> int:
        found = first(value)
        if found is None:
            refuse(here, f"gives no points to {what}: it needs an Attribute that takes it")
        return found

    missing = attribute(MISSING, "a missing value")
    rest = _values if asked.field and asked.field.kind != "number" else _stretches
    bins = [{**bin_, "points": points[position]} for bin_, position in rest(asked, first, attribute)]
    return [{"missing": True, "points": points[missing]}, *bins]


def _stretches(asked: Asked, _: Any, attribute: Any) -> list[tuple[dict[str, Any], int]]:
    """Return the bins of a number, each with its attribute; what has one attribute on both sides is no bound."""
    thresholds = sorted(asked.thresholds)
    if not thresholds:
        return [({}, attribute(Decimal(0), "a number"))]
    own = attribute(thresholds[0] - 1, f"numbers below {thresholds[0]}")
    bins: list[tuple[dict[str, Any], int]] = []
    for bound in thresholds:
        above = attribute(bound, f"numbers from {bound}")
        if above != own:
            bins.append(({"below": threshold(bound)}, own))
        own = above
    return [*bins, ({}, own)]


def _values(asked: Asked, first: Any, attribute: Any) -> list[tuple[dict[str, Any], int]]:
    field = asked.field
    if field is None or field.kind == "boolean":
        # One of the two is the open bin: nothing else is a truth.
        owners = {value: attribute(value, str(value).lower()) for value in (True, False)}
        open_at = max(owners.values())
    else:
        named = dict.fromkeys((*asked.named, *field.listed))
        owners = {value: attribute(value, f"{value!r:.60}") for value in named}
        taken = None if field.is_unlisted_missing else first(UNNAMED)
        if taken is None and not field.listed:
            attribute(UNNAMED, "a value that it does not name")
        # What a field does not list is missing, or has no result there; then any will do.
        open_at = first(MISSING) if taken is None else taken
    by_owner: dict[int, list[Any]] = {}
    for value, owner in owners.items():
        if owner != open_at:
            by_owner.setdefault(owner, []).append(value)
    return [*(({"in": values}, owner) for owner, values in sorted(by_owner.items())), ({}, open_at)]
