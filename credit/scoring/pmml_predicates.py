"""Which values an Attribute of a PMML Scorecard takes.

A predicate is looked at as a question that a value answers. Comparisons with a threshold change their answer there and
nowhere else, so that one value of each stretch between thresholds stands for all of it, and one text that is named
nowhere for all others. What is missing answers no comparison with yes, which holds through `and` and `or`; `xor` and
`surrogate` are refused.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn
from xml.etree.ElementTree import Element

from config.core.errors import ValidationFailed
from credit.scoring.foreign import number
from credit.scoring.pmml import NAMESPACE

Holds = Callable[[Any], bool]
MISSING: Final = None
_DEPTH_MAX = 5

UNNAMED: Final = object()  # a text that no predicate names


class Field(NamedTuple):
    """A field that characteristics can ask: `source` are the members of the input that it becomes."""

    name: str
    kind: str
    source: dict[str, Any]
    is_integer: bool = False
    listed: tuple[str, ...] = ()  # the texts that its DataField lists
    is_unlisted_missing: bool = False


class Asked:
    """What the predicates of one characteristic ask: its `field`, the `thresholds`, the `named` values."""

    def __init__(self, fields: dict[str, Field]) -> None:
        self._fields = fields
        self.field: Field | None = None
        self.thresholds: set[Decimal] = set()
        self.named: dict[Any, None] = {}

    def of(self, element: Element, here: str) -> Field:
        name = element.get("field", "")
        if name not in self._fields:
            refuse(here, f"asks the field {name[:60]!r}, which is not among the active fields that can be read")
        if self.field is not None and self.field.name != name:
            refuse(here, f"asks {name[:60]!r} beside {self.field.name[:60]!r}; a characteristic has one field")
        self.field = self._fields[name]
        return self.field


def refuse(here: str, why: str) -> NoReturn:
    raise ValidationFailed(f"{here[:300]}: {why}.")


def local(element: Element) -> str:
    """Return the name of a PMML element, an empty text for one of another namespace."""
    return element.tag.removeprefix(f"{{{NAMESPACE}}}") if element.tag.startswith(f"{{{NAMESPACE}}}") else ""


def children(element: Element, name: str = "") -> Iterator[Element]:
    """Yield the children that are no extension, of this name alone where one is given."""
    return (one for one in element if local(one) != "Extension" and name in {"", local(one)})


def holds_of(element: Element, here: str, asked: Asked, depth: int = 0) -> Holds:
    """Return what a predicate answers, and put what it asks into `asked`."""
    kind = local(element)
    here = f"{here}/{kind or element.tag}"
    if kind in {"True", "False"}:
        return lambda _: kind == "True"
    if kind == "SimplePredicate":
        return _simple(element, here, asked)
    if kind == "SimpleSetPredicate":
        return _set(element, here, asked)
    if kind != "CompoundPredicate":
        refuse(here, "is none of SimplePredicate, SimpleSetPredicate, CompoundPredicate, True and False")
    operator = element.get("booleanOperator")
    if operator not in {"and", "or"}:
        refuse(here, f"has the operator {str(operator)[:40]!r}; only `and` and `or` can be said")
    if depth == _DEPTH_MAX:
        refuse(here, f"is nested more than {_DEPTH_MAX} deep")
    parts = [holds_of(one, here, asked, depth + 1) for one in children(element)]
    if not parts:
        refuse(here, "has no predicates")
    together = all if operator == "and" else any
    return lambda value: together(part(value) for part in parts)


def _simple(element: Element, here: str, asked: Asked) -> Holds:
    field, operator = asked.of(element, here), element.get("operator")
    if operator == "isMissing":
        return lambda value: value is MISSING
    if operator == "isNotMissing":
        return lambda value: value is not MISSING
    text = element.get("value")
    if text is None:
        refuse(here, "needs a value")
    if field.kind == "number":
        return _compared(operator, number(text, here), field, here, asked)
    wanted = _value(text, field, here, asked)
    if operator == "equal":
        return lambda value: value == wanted
    if operator == "notEqual":
        return lambda value: value is not MISSING and value != wanted
    refuse(here, f"compares a {field.kind} by {str(operator)[:40]!r}; only equal and notEqual can be said")


def _compared(operator: str | None, bound: Decimal, field: Field, here: str, asked: Asked) -> Holds:
    ends_at_bound = operator in {"lessThan", "greaterOrEqual"}
    if not ends_at_bound and operator not in {"lessOrEqual", "greaterThan", "equal", "notEqual"}:
        refuse(here, f"has the operator {str(operator)[:40]!r}, which PMML does not have")
    # Of whole numbers the next one is a threshold as well; of others there is no next one.
    if not ends_at_bound and not field.is_integer:
        refuse(here, f"has the operator {operator} on a field that is not an integer; bins end below their bound")
    after = bound.to_integral_value("ROUND_FLOOR") + 1
    if operator not in {"equal", "notEqual"}:
        end, is_below = bound if ends_at_bound else after, operator in {"lessThan", "lessOrEqual"}
        asked.thresholds.add(end)
        return lambda value: value is not MISSING and (value < end) == is_below
    if bound != after - 1:
        refuse(here, f"compares an integer with {bound}")
    asked.thresholds |= {bound, after}
    is_equal = operator == "equal"
    return lambda value: value is not MISSING and (bound <= value < after) == is_equal


def _value(text: str, field: Field, here: str, asked: Asked) -> Any:
    value: Any = text
    if field.kind == "boolean":
        if text not in {"true", "false"}:
            refuse(here, f"compares a boolean with {text[:40]!r}")
        value = text == "true"
    asked.named[value] = None
    return value


def _set(element: Element, here: str, asked: Asked) -> Holds:
    field, operator = asked.of(element, here), element.get("booleanOperator")
    if field.kind == "number":
        refuse(here, "lists numbers; bins of numbers have bounds")
    arrays = list(children(element))
    if len(arrays) != 1 or local(arrays[0]) != "Array" or operator not in {"isIn", "isNotIn"}:
        refuse(here, "needs one Array, and isIn or isNotIn")
    found = _array(arrays[0].text or "", here)
    if arrays[0].get("n", str(len(found))) != str(len(found)):
        refuse(here, f"has an Array of {len(found)} values that says it has {arrays[0].get('n')!r:.40}")
    values = frozenset(_value(text, field, here, asked) for text in found)
    is_in = operator == "isIn"
    return lambda value: value is not MISSING and (value in values) == is_in


def _array(text: str, here: str) -> list[str]:
    """Return the texts of an Array: separated by spaces, in quotes where they hold some, `\\"` being a quote."""
    values, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] != '"':
            start = at
            while at < len(text) and not text[at].isspace():
                at += 1
            values.append(text[start:at])
        else:
            at += 1
            start = at
            while (at := text.find('"', at)) > 0 and text[at - 1] == "\\" and at > start:
                at += 1
            if at < 0:
                refuse(here, "has an Array with a quote that does not end")
            values.append(text[start:at].replace('\\"', '"'))
            at += 1
    return values
