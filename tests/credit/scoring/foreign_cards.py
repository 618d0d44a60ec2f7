"""PMML as another program might write it."""

import pytest

from config.core.errors import ValidationFailed
from credit.scoring import pmml, pmml_reading
from credit.scoring.foreign import Terms

TERMS = Terms(outcomes=[("approve", 50), ("refer", 20)])


def refusal(document, terms=TERMS):
    with pytest.raises(ValidationFailed) as caught:
        pmml_reading.read(document, terms)
    details = caught.value.details
    return " ".join([str(caught.value), *(f"{one['field']} {one['message']}" for one in details or ())])


def attribute(points, predicate, more=""):
    return f'<Attribute partialScore="{points}"{more}>{predicate}</Attribute>'


def simple(operator, value=None, field="x"):
    value = "" if value is None else f' value="{value}"'
    return f'<SimplePredicate field="{field}" operator="{operator}"{value}/>'


def both(*predicates, operator="and"):
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(predicates)}</CompoundPredicate>'


def isin(values, operator="isIn", n="", field="x"):
    array = f'<Array type="string"{n}>{values}</Array>'
    return f'<SimpleSetPredicate field="{field}" booleanOperator="{operator}">{array}</SimpleSetPredicate>'


MISSING = attribute(1, simple("isMissing"))
REST = attribute(2, "<True/>")
CHARACTERISTIC = ' name="c" reasonCode="R1" baselineScore="9"'


def foreign(
    *attributes, card="", characteristic=CHARACTERISTIC, data='dataType="double"', values="", mining="", more=""
):
    """Return a document with one characteristic that asks the field `x`."""
    optype = "categorical" if "string" in data or "boolean" in data else "continuous"
    return (
        f'<PMML xmlns="{pmml.NAMESPACE}" version="4.4"><Header/><DataDictionary>'
        f'<DataField name="x" optype="{optype}" {data}>{values}</DataField>'
        '<DataField name="y" optype="continuous" dataType="double"/>'
        '<DataField name="t" optype="continuous" dataType="double"/>'
        f'</DataDictionary><Scorecard functionName="regression" {card}><MiningSchema><MiningField name="x"{mining}/>'
        f'<MiningField name="y"/><MiningField name="t" usageType="target"/></MiningSchema>{more}<Characteristics>'
        f"<Characteristic{characteristic}>{''.join(attributes)}</Characteristic></Characteristics></Scorecard></PMML>"
    ).encode()


TEXT = 'dataType="string"'
DERIVED = (
    '<LocalTransformations><DerivedField name="d" optype="continuous" dataType="double">{}</DerivedField>'
    "</LocalTransformations>"
)
ANY = (MISSING, REST)
