"""Export a scorecard as PMML 4.4: <https://dmg.org/pmml/v4-4-1/Scorecard.html>.

Every scoring engine computes the same points, total, and reasons from the document, as long as doubles are exact.
Doubles are exact for integers below 2^53, and for thresholds with at most 15 digits. PMML can't express knockouts,
outcomes, segments, the range of the total, or changeable inputs. An `Extension` contains the complete definition.

Each field has its JSON type, so callers of an engine must omit values of other types. The caller computes
`months_since` as a number, because PMML counts days only from a fixed year. Claims of a verified scorecard have no
field, because the scorecard reads every claim as missing.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import chain, count
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from credit.core.card import is_claimed
from credit.core.reasons import key_of

NAMESPACE = "http://www.dmg.org/PMML-4_4"
EXTENDER, EXTENSION = "creditplatform", "definition"
# XML forbids these characters, or XML parsers convert them to spaces. Definitions never contain them.
_UNWRITABLE = dict.fromkeys((*range(32), 127, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
_TYPES = {"number": ("continuous", "double"), "text": ("categorical", "string"), "boolean": ("categorical", "boolean")}


def write(definition: Mapping[str, Any], *, name: str) -> bytes:
    """Convert a valid definition (`definition.check`) to a PMML document. `name` is the name of the model."""
    used = {characteristic["input"] for characteristic in definition["characteristics"]}
    inputs = [source for source in definition["inputs"] if source["name"] in used]
    fields = _Fields(_without_claims(source) if definition.get("verified") else source for source in inputs)
    root = Element("PMML", {"xmlns": NAMESPACE, "version": "4.4"})
    SubElement(SubElement(root, "Header"), "Application", {"name": EXTENDER})
    dictionary = SubElement(root, "DataDictionary", {"numberOfFields": str(len(fields.kinds))})
    for field, kind in fields.kinds.items():
        optype, data_type = _TYPES[kind]
        SubElement(dictionary, "DataField", {"name": field, "optype": optype, "dataType": data_type})
    attributes = {
        "modelName": name.translate(_UNWRITABLE),
        "functionName": "regression",
        "initialScore": str(definition["base_points"]),
        "useReasonCodes": "true",
        "reasonCodeAlgorithm": "pointsBelow",
        "baselineMethod": "other",
    }
    card = SubElement(root, "Scorecard", attributes)
    extension = SubElement(card, "Extension", {"extender": EXTENDER, "name": EXTENSION})
    extension.text = json.dumps(definition, sort_keys=True, separators=(",", ":"))
    schema = SubElement(card, "MiningSchema")
    for field in fields.kinds:
        SubElement(schema, "MiningField", {"name": field, "invalidValueTreatment": "asMissing"})
    _output(card, definition)
    if fields.derived:
        transformations = SubElement(card, "LocalTransformations")
        for source in fields.derived:
            _derive(transformations, source, fields)
    characteristics = SubElement(card, "Characteristics")
    for characteristic in definition["characteristics"]:
        _characteristic(characteristics, characteristic, fields.of_input[characteristic["input"]])
    indent(root, " ")
    text: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _without_claims(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Remove the claims from an input of a verified scorecard.

    An input that is always missing becomes an empty `first_of`.
    """
    if "first_of" in source:
        return {**source, "first_of": [name for name in source["first_of"] if not is_claimed(name)]}
    names = [source[name] for name in ("from", "months_since") if name in source] or source.get(
        "ratio", source.get("sum")
    )
    if not any(map(is_claimed, names)):
        return source
    return {"name": source["name"], "first_of": [], "type": source.get("type", "number")}


class _Fields:
    """The PMML fields of inputs. `kinds` maps the caller's fields to types. `of_input` maps inputs to fields.

    If inputs read a fact as two types, the fact has two fields. Names of derived fields differ from names of facts.
    `derived` are the inputs that the document computes.
    """

    def __init__(self, inputs: Iterable[Mapping[str, Any]]) -> None:
        self.kinds: dict[str, str] = {}
        self.of_input: dict[str, str] = {}
        self.derived: list[Mapping[str, Any]] = []
        self._of_fact: dict[tuple[str, str], str] = {}
        others = []
        for source in inputs:
            if "from" in source:
                self.of_input[source["name"]] = self.of_fact(source["from"], source["type"])
                continue
            for fact in (*source.get("first_of", ()), *source.get("ratio", ()), *source.get("sum", ())):
                self.of_fact(fact, source.get("type", "number"))
            others.append(source)
        names = set(self.kinds)
        for source in others:
            self.of_input[source["name"]] = field = _unused(source["name"], names)
            names.add(field)
            if "months_since" in source:
                self.kinds[field] = "number"
            else:
                self.derived.append(source)

    def of_fact(self, fact: str, kind: str) -> str:
        field = self._of_fact.get((fact, kind))
        if field is None:
            field = self._of_fact[fact, kind] = _unused(fact, self.kinds)
            self.kinds[field] = kind
        return field


def _unused(name: str, used: Iterable[str]) -> str:
    tries, names = chain([name], (f"{name} {number}" for number in count(2))), set(used)
    return next(tried for tried in tries if tried not in names)


def _output(card: Element, definition: Mapping[str, Any]) -> None:
    output = SubElement(card, "Output")
    kind = {"feature": "predictedValue", "optype": "continuous", "dataType": "double"}
    SubElement(output, "OutputField", {"name": "total", **kind})
    for rank in range(
        1, len({key_of(characteristic["reason"]) for characteristic in definition["characteristics"]}) + 1
    ):
        kind = {"feature": "reasonCode", "rank": str(rank), "optype": "categorical", "dataType": "string"}
        SubElement(output, "OutputField", {"name": f"reason {rank}", **kind})


def _ratio(parent: Element, part: str, whole: str) -> None:
    """Add the ratio of two fields. The ratio is missing if the second field is missing or zero."""

    def apply(above: Element, function: str) -> Element:
        return SubElement(above, "Apply", {"function": function})

    def refer(above: Element, name: str) -> None:
        SubElement(above, "FieldRef", {"field": name})

    # An `if` without an else branch returns a missing value if the condition is false. Comparing a missing value would
    # be an error.
    known = apply(parent, "if")
    refer(apply(known, "isNotMissing"), whole)
    choice = apply(known, "if")
    condition = apply(choice, "notEqual")
    refer(condition, whole)
    SubElement(condition, "Constant", {"dataType": "double"}).text = "0"
    division = apply(choice, "/")
    refer(division, part)
    refer(division, whole)


def _first_of(parent: Element, names: list[str]) -> None:
    """Add a choice of the first field that is not missing. Without fields, the value is always missing."""
    *others, last = names or [""]
    for name in others:
        choice = SubElement(parent, "Apply", {"function": "if"})
        SubElement(SubElement(choice, "Apply", {"function": "isNotMissing"}), "FieldRef", {"field": name})
        SubElement(choice, "FieldRef", {"field": name})
        parent = choice
    if last:
        SubElement(parent, "FieldRef", {"field": last})
        return
    never = SubElement(parent, "Apply", {"function": "if"})
    SubElement(never, "Constant", {"dataType": "boolean"}).text = "false"
    SubElement(never, "Constant", {"dataType": "double"}).text = "0"


def _derive(transformations: Element, declared: Mapping[str, Any], fields: _Fields) -> None:
    optype, data_type = _TYPES[declared.get("type", "number")]
    names = {"name": fields.of_input[declared["name"]], "optype": optype, "dataType": data_type}
    field = SubElement(transformations, "DerivedField", names)
    if "first_of" in declared:
        _first_of(field, [fields.of_fact(fact, declared["type"]) for fact in declared["first_of"]])
        return
    if "ratio" in declared:
        part, whole = (fields.of_fact(fact, "number") for fact in declared["ratio"])
        _ratio(field, part, whole)
        return
    # The function `sum` would ignore missing values. `+` adds two values, and returns a missing value if either is
    # missing.
    parent = field
    *rest, first, second = [fields.of_fact(fact, "number") for fact in reversed(declared["sum"])]
    for name in rest:
        parent = SubElement(parent, "Apply", {"function": "+"})
        parent.append(Element("FieldRef", {"field": name}))
    parent = SubElement(parent, "Apply", {"function": "+"})
    SubElement(parent, "FieldRef", {"field": second})
    SubElement(parent, "FieldRef", {"field": first})


def _characteristic(characteristics: Element, declared: Mapping[str, Any], field: str) -> None:
    named = {
        "name": declared["name"],
        "reasonCode": key_of(declared["reason"]),
        "baselineScore": str(declared["baseline"]),
    }
    characteristic = SubElement(characteristics, "Characteristic", named)
    lower: str | None = None
    # The bin for missing values comes first, because the last attribute matches everything else.
    for choice in sorted(declared["bins"], key=lambda choice: "missing" not in choice):
        attribute = SubElement(characteristic, "Attribute", {"partialScore": str(choice["points"])})
        if "missing" in choice:
            SubElement(attribute, "SimplePredicate", {"field": field, "operator": "isMissing"})
        elif "in" in choice:
            _is_in(attribute, field, choice["in"])
        else:
            upper = str(choice["below"]) if "below" in choice else None
            _between(attribute, field, lower, upper)
            lower = upper


def _between(attribute: Element, field: str, lower: str | None, upper: str | None) -> None:
    bounds = [("greaterOrEqual", lower), ("lessThan", upper)]
    wanted = [{"field": field, "operator": operator, "value": bound} for operator, bound in bounds if bound is not None]
    if not wanted:
        SubElement(attribute, "True")
        return
    parent = SubElement(attribute, "CompoundPredicate", {"booleanOperator": "and"}) if len(wanted) == 2 else attribute
    for predicate in wanted:
        SubElement(parent, "SimplePredicate", predicate)


def _is_in(attribute: Element, field: str, values: list[Any]) -> None:
    # In arrays, quotes are escaped with a backslash. Engines disagree about a backslash at the end.
    if isinstance(values[0], str) and len(values) > 1 and not any("\\" in value for value in values):
        chosen = SubElement(attribute, "SimpleSetPredicate", {"field": field, "booleanOperator": "isIn"})
        array = SubElement(chosen, "Array", {"type": "string", "n": str(len(values))})
        array.text = " ".join('"' + value.replace('"', '\\"') + '"' for value in values)
        return
    parent = SubElement(attribute, "CompoundPredicate", {"booleanOperator": "or"}) if len(values) > 1 else attribute
    for value in values:
        written = value if isinstance(value, str) else str(value).lower()
        SubElement(parent, "SimplePredicate", {"field": field, "operator": "equal", "value": written})
