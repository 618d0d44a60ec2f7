"""PMML cards of other programs: what can be said exactly is read, the rest is refused by the element."""

import pytest

from credit.reasons import REASONS
from credit.scoring import pmml, pmml_reading
from credit.scoring.foreign import Terms
from tests.credit.scoring.foreign_cards import (
    ANY,
    DERIVED,
    MISSING,
    REST,
    TERMS,
    TEXT,
    attribute,
    both,
    foreign,
    isin,
    refusal,
    simple,
)


def bins_of(document, terms=TERMS):
    return pmml_reading.read(document, terms)["characteristics"][0]["bins"]


FIRST = {"missing": True, "points": 1}
ACCEPTED = {
    "bounds in any order, and overlapping": (
        foreign(
            attribute(5, both(simple("greaterOrEqual", "2.50"), simple("lessThan", "1e1"))),
            attribute(3, simple("lessThan", "0.5")),
            MISSING,
            attribute(4, simple("lessThan", 7)),
            REST,
        ),
        [
            FIRST,
            {"below": "0.5", "points": 3},
            {"below": "2.5", "points": 4},
            {"below": 10, "points": 5},
            {"points": 2},
        ],
    ),
    "whole numbers, up to and above": (
        foreign(
            attribute(5, simple("lessOrEqual", 4)),
            attribute(6, simple("equal", 7)),
            attribute(7, simple("greaterThan", 9)),
            MISSING,
            REST,
            data='dataType="integer"',
        ),
        [
            FIRST,
            {"below": 5, "points": 5},
            {"below": 7, "points": 2},
            {"below": 8, "points": 6},
            {"below": 10, "points": 2},
            {"points": 7},
        ],
    ),
    "whole numbers, unequal": (
        foreign(
            attribute(5, simple("notEqual", -3)),
            attribute(6, simple("isNotMissing")),
            MISSING,
            data='dataType="integer"',
        ),
        [FIRST, {"below": -3, "points": 5}, {"below": -2, "points": 6}, {"points": 5}],
    ),
    "missing with a bin": (
        foreign(attribute(1, both(simple("isMissing"), simple("lessThan", 3), operator="or")), REST),
        [FIRST, {"below": 3, "points": 1}, {"points": 2}],
    ),
    "what is missing has what the rest has": (
        foreign(attribute(3, simple("lessThan", 3)), REST),
        [{"missing": True, "points": 2}, {"below": 3, "points": 3}, {"points": 2}],
    ),
    "no bounds": (foreign(MISSING, attribute(2, simple("isNotMissing"))), [FIRST, {"points": 2}]),
    "texts": (
        foreign(
            MISSING,
            attribute(3, simple("equal", "a b")),
            attribute(4, isin('c "d e" "f\\"g"', n=' n="3"')),
            REST,
            data=TEXT,
        ),
        [FIRST, {"in": ["a b"], "points": 3}, {"in": ["c", "d e", 'f"g'], "points": 4}, {"points": 2}],
    ),
    "texts that are not": (
        foreign(attribute(3, simple("notEqual", "a")), attribute(4, isin("b a", "isNotIn")), MISSING, REST, data=TEXT),
        [FIRST, {"in": ["a"], "points": 2}, {"points": 3}],
    ),
    "a text that is taken before": (
        foreign(attribute(3, simple("equal", "a")), attribute(4, isin("a b")), MISSING, REST, data=TEXT),
        [FIRST, {"in": ["a"], "points": 3}, {"in": ["b"], "points": 4}, {"points": 2}],
    ),
    "texts that are listed, and others have no result": (
        foreign(
            attribute(3, simple("equal", "a")),
            attribute(4, simple("equal", "b")),
            MISSING,
            data=TEXT,
            values='<Value value="a"/><Value value="b"/>',
        ),
        [FIRST, {"in": ["a"], "points": 3}, {"in": ["b"], "points": 4}, {"points": 1}],
    ),
    "texts that are listed, and others are missing": (
        foreign(
            attribute(3, simple("equal", "a")),
            MISSING,
            REST,
            data=TEXT,
            mining=' invalidValueTreatment="asMissing"',
            values='<Value value="a"/><Value value="b"/>',
        ),
        [FIRST, {"in": ["a"], "points": 3}, {"in": ["b"], "points": 2}, {"points": 1}],
    ),
    "truths": (
        foreign(attribute(3, simple("equal", "true")), MISSING, REST, data='dataType="boolean"'),
        [FIRST, {"in": [True], "points": 3}, {"points": 2}],
    ),
    "an attribute that takes nothing": (
        foreign(attribute(3, "<False/>"), attribute(3, simple("lessThan", 0)), MISSING, REST),
        [FIRST, {"below": 0, "points": 3}, {"points": 2}],
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_can_be_said_exactly_is_read(case):
    document, bins = ACCEPTED[case]
    assert bins_of(document) == bins


def test_a_card_of_another_program_has_the_outcomes_facts_and_reasons_that_are_told():
    terms = Terms([("approve", 50)], {"x": "application_data.monthly_income_cents"}, {"x": "income_insufficient"})
    one = pmml_reading.read(
        foreign(MISSING, attribute(2, simple("lessThan", 5)), attribute(7, simple("isNotMissing"))), terms
    )
    assert one["inputs"] == [{"name": "x", "from": "application_data.monthly_income_cents", "type": "number"}]
    assert one["outcomes"] == [{"outcome": "approve", "from": 50}, {"outcome": "decline"}]
    assert one["characteristics"][0]["reason"] == "income_insufficient"
    assert (one["base_points"], one["characteristics"][0]["baseline"]) == (0, 9)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("R1", {"code": "other", "text": "R1"}),
        ("bankruptcy", "bankruptcy"),
        (REASONS["bankruptcy"], "bankruptcy"),
        ("w" * 300, {"code": "other", "text": "w" * 120}),
    ],
)
def test_a_reason_code_that_is_ours_or_says_what_ours_says_is_ours(said, reason):
    document = foreign(
        MISSING, REST, attribute(0, simple("lessThan", 0)), characteristic=f' reasonCode="{said}" baselineScore="9"'
    )
    one = pmml_reading.read(document, TERMS)["characteristics"][0]
    assert (one["reason"], one["name"]) == (reason, "x")


def test_without_reason_codes_the_baseline_is_the_best_bin_and_the_reason_its_name():
    document = foreign(
        attribute(100, simple("isMissing")), attribute(5, simple("lessThan", 0)), REST,
        card='useReasonCodes="false" reasonCodeAlgorithm="pointsAbove"', characteristic=' name="c"',
    )  # fmt: skip
    one = pmml_reading.read(document, TERMS)["characteristics"][0]
    assert (one["baseline"], one["reason"]) == (5, {"code": "other", "text": "c"})


def test_the_baseline_and_the_reason_may_stand_around_or_within():
    document = foreign(
        attribute(1, simple("isMissing"), ' reasonCode="R2"'), attribute(2, simple("isNotMissing"), ' reasonCode="R2"'),
        card='baselineScore="8"', characteristic=' name="c" reasonCode="R1"',
    )  # fmt: skip
    one = pmml_reading.read(document, TERMS)["characteristics"][0]
    assert (one["baseline"], one["reason"]["text"]) == (8, "R2")


SPACE = f'xmlns="{pmml.NAMESPACE}"'
REFUSED = {
    "a fraction of a point": (
        foreign(MISSING, attribute("2.5", "<True/>")),
        "Attribute[2]/@partialScore",
        "no integer",
    ),
    "no number": (foreign(MISSING, attribute("many", "<True/>")), "Attribute[2]/@partialScore", "no number"),
    "an infinity": (foreign(MISSING, attribute("INF", "<True/>")), "Attribute[2]", "no number"),
    "a large exponent": (foreign(MISSING, attribute("1e999", "<True/>")), "Attribute[2]", "more than 15 digits"),
    "an endless exponent": (
        foreign(MISSING, attribute(1, simple("lessThan", "1e" + "9" * 50))),
        "SimplePredicate",
        "no number",
    ),
    "a fine threshold": (
        foreign(MISSING, attribute(1, simple("lessThan", "0.12345678901")), REST),
        "SimplePredicate",
        "behind",
    ),
    "points that are computed": (
        foreign(MISSING, "<Attribute><True/><ComplexPartialScore/></Attribute>"),
        "Attribute[2]",
        "computed cannot be said",
    ),
    "an upper bound in the bin": (
        foreign(MISSING, attribute(2, simple("lessOrEqual", 5)), REST),
        "Attribute[2]/SimplePredicate",
        "lessOrEqual",
    ),
    "a double that equals": (foreign(MISSING, attribute(2, simple("equal", 5)), REST), "SimplePredicate", "equal"),
    "an integer that equals a fraction": (
        foreign(MISSING, attribute(2, simple("equal", "5.5")), REST, data='dataType="integer"'),
        "SimplePredicate",
        "5.5",
    ),
    "an unknown operator": (foreign(MISSING, attribute(2, simple("like", 5)), REST), "SimplePredicate", "'like'"),
    "an order of texts": (
        foreign(MISSING, attribute(2, simple("lessThan", 5)), REST, data=TEXT),
        "SimplePredicate",
        "lessThan",
    ),
    "a truth that is neither": (
        foreign(MISSING, attribute(2, simple("equal", "yes")), REST, data='dataType="boolean"'),
        "SimplePredicate",
        "yes",
    ),
    "no value": (foreign(MISSING, attribute(2, simple("lessThan")), REST), "SimplePredicate", "needs a value"),
    "a list of numbers": (foreign(MISSING, attribute(2, isin("1 2")), REST), "SimpleSetPredicate", "lists numbers"),
    "an array that is shorter": (
        foreign(MISSING, attribute(2, isin("a b", n=' n="3"')), REST, data=TEXT),
        "SimpleSetPredicate",
        "says it has",
    ),
    "an array with an open quote": (
        foreign(MISSING, attribute(2, isin('a "b')), REST, data=TEXT),
        "SimpleSetPredicate",
        "does not end",
    ),
    "xor": (
        foreign(MISSING, attribute(2, both(simple("lessThan", 5), operator="xor")), REST),
        "CompoundPredicate",
        "'xor'",
    ),
    "surrogate": (foreign(MISSING, attribute(2, both(operator="surrogate")), REST), "CompoundPredicate", "'surrogate'"),
    "an empty compound": (foreign(MISSING, attribute(2, both()), REST), "CompoundPredicate", "has no predicates"),
    "a field inside of another's": (
        foreign(MISSING, attribute(2, simple("lessThan", 5, field="y")), REST),
        "SimplePredicate",
        "'y' beside 'x'",
    ),
    "a field that is nowhere": (foreign(attribute(2, simple("lessThan", 5, field="z"))), "SimplePredicate", "'z'"),
    "the target": (foreign(attribute(2, simple("lessThan", 5, field="t"))), "SimplePredicate", "'t'"),
    "no predicate": (foreign(MISSING, attribute(2, "")), "Attribute[2]", "one predicate"),
    "a predicate of another kind": (foreign(MISSING, attribute(2, "<Tree/>")), "Attribute[2]/Tree", "is none of"),
    "nobody's field": (foreign(REST), "Characteristic[1]", "asks no field"),
    "no attributes": (foreign(), "Characteristic[1]", "needs 1 to 51 Attributes"),
    "nothing for what is missing": (
        foreign(attribute(2, simple("lessThan", 5)), attribute(3, simple("greaterOrEqual", 5))),
        "Characteristic[1]",
        "no points to a missing value",
    ),
    "a gap": (
        foreign(MISSING, attribute(2, simple("lessThan", 5)), attribute(3, simple("greaterOrEqual", 6))),
        "Characteristic[1]",
        "no points to numbers from 5",
    ),
    "nothing below": (
        foreign(MISSING, attribute(3, simple("greaterOrEqual", 6))),
        "Characteristic[1]",
        "numbers below 6",
    ),
    "nothing for other texts": (
        foreign(MISSING, attribute(3, simple("equal", "a")), data=TEXT),
        "Characteristic[1]",
        "a value that it does not name",
    ),
    "nothing for false": (
        foreign(MISSING, attribute(3, simple("equal", "true")), data='dataType="boolean"'),
        "Characteristic[1]",
        "false",
    ),
    "reasons that change": (
        foreign(MISSING, attribute(2, "<True/>", ' reasonCode="R2"')),
        "Characteristic[1]",
        "the same for all",
    ),
    "no reason": (
        foreign(*ANY, attribute(2, simple("lessThan", 0)), characteristic=' baselineScore="1"'),
        "Characteristic[1]",
        "needs one reasonCode",
    ),
    "no baseline": (foreign(*ANY, characteristic=' reasonCode="R"'), "Characteristic[1]", "needs a baselineScore"),
    "losses upwards": (foreign(*ANY, card='reasonCodeAlgorithm="pointsAbove"'), "PMML/Scorecard", "pointsAbove"),
    "another function": (foreign(*ANY).replace(b"regression", b"classification"), "PMML/Scorecard", "functionName"),
    "not for scoring": (foreign(*ANY, card='isScorable="false"'), "PMML/Scorecard", "isScorable"),
    "targets": (
        foreign(*ANY, more='<Targets><Target field="t" rescaleFactor="2"/></Targets>'),
        "Scorecard/Targets",
        "cannot be said",
    ),
    "an intercept of no points": (foreign(*ANY, card='initialScore="0.5"'), "@initialScore", "no integer"),
    "values that are replaced": (
        foreign(*ANY, mining=' missingValueReplacement="0"'),
        "MiningField[1]",
        "missingValueReplacement",
    ),
    "values that are clamped": (foreign(*ANY, mining=' outliers="asExtremeValues"'), "MiningField[1]", "outliers"),
    "values that are made": (foreign(*ANY, mining=' invalidValueTreatment="asValue"'), "MiningField[1]", "invalid"),
    "no result for what is missing": (
        foreign(*ANY, mining=' missingValueTreatment="returnInvalid"'),
        "MiningField[1]",
        "missing",
    ),
    "a field without its data": (
        foreign(*ANY).replace(b'DataField name="x"', b'DataField name="w"'),
        "MiningField[1]",
        "'x'",
    ),
    "a float of 32 bits": (foreign(*ANY, data='dataType="float"'), "DataField 'x'", "'float'"),
    "a day": (foreign(*ANY, data='dataType="dateDaysSince[1960]"'), "DataField 'x'", "dateDaysSince"),
    "an interval": (
        foreign(*ANY, values='<Interval closure="openOpen"/>'),
        "DataField 'x'/Interval",
        "valid or missing",
    ),
    "a value that stands for missing": (
        foreign(*ANY, data=TEXT, values='<Value value="?" property="missing"/>'),
        "DataField 'x'/Value",
        "valid or missing",
    ),
    "a derived field of another kind": (
        foreign(*ANY, more=DERIVED.format('<Apply function="*"><FieldRef field="x"/><FieldRef field="y"/></Apply>')),
        "DerivedField 'd'",
        "neither a sum",
    ),
    "a ratio over zero": (
        foreign(*ANY, more=DERIVED.format('<Apply function="/"><FieldRef field="x"/><FieldRef field="y"/></Apply>')),
        "DerivedField 'd'",
        "neither a sum",
    ),
    "a sum that leaves out what is missing": (
        foreign(*ANY, more=DERIVED.format('<Apply function="sum"><FieldRef field="x"/><FieldRef field="y"/></Apply>')),
        "DerivedField 'd'",
        "neither a sum",
    ),
    "a sum of what is nowhere": (
        foreign(*ANY, more=DERIVED.format('<Apply function="+"><FieldRef field="x"/><FieldRef field="z"/></Apply>')),
        "DerivedField 'd'",
        "'z'",
    ),
    "two expressions": (foreign(*ANY, more=DERIVED.format("<A/><B/>")), "DerivedField 'd'", "one expression"),
    "another namespace": (foreign(*ANY).replace(b"PMML-4_4", b"PMML-4_3"), "no PMML 4.4", ""),
    "no model": (f"<PMML {SPACE}/>".encode(), "one model", ""),
    "another model": (foreign(*ANY).replace(b"Scorecard", b"TreeModel"), "one model, a Scorecard", ""),
    "a prohibited ground": (
        foreign(*ANY, attribute(2, simple("lessThan", 0, field="x"))).replace(b'"x"', b'"sex"'),
        "/inputs/0/from",
        "1002.2(z)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_said_exactly_is_refused_by_the_element(case):
    document, where, why = REFUSED[case]
    said = refusal(document)
    assert where in said, said
    assert why in said, said


def test_a_card_without_outcomes_is_refused_until_they_are_told():
    assert "names no outcomes" in refusal(foreign(MISSING, attribute(2, simple("isNotMissing"))), None)


def test_what_is_told_of_a_variable_that_is_not_there_is_refused():
    document = foreign(MISSING, attribute(2, simple("isNotMissing")))
    assert "has no variable 'w'" in refusal(document, Terms([("approve", 1)], {"w": "application_data.w"}))
    assert "has no variable 'w'" in refusal(document, Terms([("approve", 1)], {}, {"w": "bankruptcy"}))
