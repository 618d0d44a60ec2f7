"""Test that every validation error of a scorecard contains its location."""

import pytest
from jsonschema import Draft202012Validator

from credit.core.reasons import REASONS
from credit.scoring import definition as definitions
from credit.scoring.definition import check
from tests.credit.scoring.cards import definition
from tests.credit.scoring.refusals import BINS, DELETE, INPUTS, changed, known_facts, refusals  # noqa: F401  a fixture

pytestmark = pytest.mark.usefixtures("known_facts")


KNOCKOUT = {"input": "income", "below": 5, "outcome": "refer", "reason": "bankruptcy"}


def test_valid_scorecard_definition_passes_the_check():
    check(definition())
    Draft202012Validator.check_schema(definitions.SCHEMA)
    assert definitions.SCHEMA["title"] == "Scorecard"
    for bins in (OLD, [*OLD[:2], {"below": 61, "points": 9}, {"below": 62, "points": 8}, OLD[3]]):
        check(changed(*AGE, (BINS, bins)))  # The input of the age only favors the elderly.


AGE = [(f"{INPUTS}/0", {"name": "income", "from": "application_data.age", "type": "number", "allow_age": True})]
OLD = [{"missing": True, "points": 0}, {"below": 25, "points": 5}, {"below": 62, "points": 9}, {"points": 9}]
# A value at a pointer, and the message of the error at that pointer.
REFUSED_VALUES = [
    ("/inputs", [], "at least 1"), ("/inputs", [{"name": "a"}] * 51, "at most 50"),
    ("/knockouts", [KNOCKOUT] * 21, "at most 20"),
    ("/characteristics", definition()["characteristics"][:1] * 51, "at most 50"),
    (BINS, [{"points": 1}] * 51, "at most 50"),
    ("/characteristics/2/bins/1/in", [str(n) for n in range(201)], "at most 200"),
    ("/segments", [{"name": "a", "from": 1}] * 21, "at most 20"),
    (f"{INPUTS}/1/ratio", ["application_data.a"] * 3, "at most 2"), (f"{INPUTS}/0/name", "", "at least 1 char"),
    (f"{INPUTS}/0/name", "n" * 101, "at most 100 char"), (f"{INPUTS}/0/name", "a\nb", "control character"),
    ("/characteristics/2/bins/1/in/0", "\uffff", "XML does not allow"),
    (f"{INPUTS}/0/from", "application_data." + "a" * 200, "at most 200"),
    (f"{INPUTS}/0/type", "date", "number or text or boolean"),
    *(("/base_points", value, "Must be integer.") for value in (1.0, True, float("inf"), float("nan"))),
    ("/base_points", 1_000_001, "at most 1000000"), (f"{BINS}/0/points", -1_000_001, "at least -1000000"),
    ("/outcomes/0/from", "640", "Must be integer."), (f"{BINS}/1/below", 0.5, "integer or string"),
    *((f"{BINS}/1/below", value, "without an exponent") for value in ("1e3", "1.5\n", "+1.5", "01.5", "\u0661",
     "0.12345678901", "NaN")),
    (f"{BINS}/1/below", 10**15, "at most 999999999999999"), (f"{BINS}/0/missing", False, ""),
    ("/characteristics/2/bins/1/in/0", 5, "string or boolean"),
    ("/characteristics/0/reason", {"code": "other"}, "Must have text."),
    ("/knockouts/0/outcome", "approve", "refer or decline"), ("/range", [1, 2, 3], "at most 2"),
    (f"{INPUTS}/0", {"name": "income"}, "exactly one of from"), (f"{INPUTS}/1/name", "income", "another input"),
    (f"{INPUTS}/0/from", "bank.balance", "Unknown fact"),
    (f"{INPUTS}/1/ratio/1", "application_data..a", "Unknown fact"),
    (f"{INPUTS}/0/from", "identity.verified", "Must be a number. This fact is a boolean."),
    (f"{INPUTS}/1/ratio/0", "application_data.person.maritalStatus", "1002.2(z)"),
    (f"{INPUTS}/1/ratio/0", "application_data.facebook_friends", "Article 18(3)"),
    ("/knockouts/0/input", "x", "name of an input"), ("/knockouts/0/equals", "no", "Must be a boolean"),
    ("/characteristics/2/bins/1/in", [True], "Must be a text"),
    ("/knockouts/0/reason", "score_too_low", "Must be a principal reason"),
    ("/characteristics/0/reason", "score_too_low", "Must be a principal"),
    ("/characteristics/0/reason", "inquiries_recent", "inquiries_stated"),
    ("/characteristics/1/name", "income", "another characteristic"),
    ("/characteristics/1/input", "x", "name of an input"), ("/characteristics/1/input", "income", "has a"),
    (BINS, [{"missing": True, "points": 1}, {"points": 1}, {"below": 1, "points": 1}], "must follow the other bins"),
    (f"{BINS}/2/below", 5, "above `below` of the previous"),
    (f"{BINS}/2/below", "150000.0", "above `below` of the previous"),
    ("/outcomes/1/from", 640, "below the previous `from`"),
    ("/outcomes", [{"outcome": "approve"}], "would be approved"), ("/range", [5, 5], "the lowest total"),
]  # fmt: skip
# Edits of the definition, the pointer of the error, and its message.
REFUSED = [
    *(([(pointer, value)], pointer, message) for pointer, value, message in REFUSED_VALUES),
    ([], "", "Must be object."), ([("/base_points", DELETE), ("/outcomes", DELETE)], "", "Must have base_points"),
    ([("/code", "1+1")], "", "Unknown field 'code'"),
    ([(f"{INPUTS}/1", {"name": "debt_to_income", "sum": ["application_data.a"] * 11})], f"{INPUTS}/1/sum",
     "at most 10"),
    ([("/characteristics/0/reason", {"code": "mine", "text": "x"})], "/characteristics/0/reason/code",
     "Must be other."),
    ([(f"{INPUTS}/0/months_since", "application_data.a")], f"{INPUTS}/0", "exactly one of from"),
    ([(f"{INPUTS}/0/type", DELETE)], f"{INPUTS}/0", "`type` is required"),
    ([(f"{INPUTS}/1/type", "number")], f"{INPUTS}/1", "`type` is required"),
    ([(f"{INPUTS}/0", {"name": "income", "months_since": "account.age_days"})], f"{INPUTS}/0/months_since",
     "Must be a text. This fact is a number."),
    ([("/knockouts/0/equals", DELETE)], "/knockouts/0", "exactly one of equals"),
    ([("/knockouts/0/in", [True])], "/knockouts/0", "exactly one of equals"),
    ([("/knockouts/0", {**KNOCKOUT, "input": "identity_verified"})], "/knockouts/0/below", "Is not allowed for"),
    ([("/knockouts/0/input", "income")], "/knockouts/0/equals", "Is not allowed for"),
    ([("/characteristics/0/reason", {"code": "other", "text": "  "})], "/characteristics/0/reason/text",
     "a specific factor"),
    ([("/characteristics/0/reason", {"code": "other", "text": "Insufficient points"})],
     "/characteristics/0/reason/text", "a specific factor"),
    ([("/characteristics/0/reason", {"code": "other", "text": "bankruptcy"})], "/characteristics/0/reason/text",
     "Send its code"),
    ([("/knockouts/0/reason", {"code": "other", "text": REASONS["bankruptcy"]})], "/knockouts/0/reason/text",
     "Send its code"),
    ([(f"{BINS}/1/in", ["a"])], f"{BINS}/1", "below and in"),
    ([(f"{BINS}/1", {"in": ["a"], "points": 1})], f"{BINS}/1/in", "Is not allowed for"),
    ([("/characteristics/2/bins/1", {"below": 1, "points": 1})], "/characteristics/2/bins/1/below",
     "Is not allowed for"),
    ([(f"{BINS}/0", DELETE)], BINS, "exactly one bin for missing values"),
    ([(f"{BINS}/1", {"missing": True, "points": 1})], BINS, "missing values"),
    ([(f"{BINS}/3", DELETE)], BINS, "exactly one bin that has only points"),
    ([(f"{BINS}/1", {"points": 1})], BINS, "exactly one bin that has only points"),
    ([("/characteristics/2/bins/2/in/0", "own")], "/characteristics/2/bins/2/in", "Must not contain a value twice"),
    ([("/characteristics/2/bins/2/in/0", "family")], "/characteristics/2/bins/2/in", "twice"),
    ([(*AGE[0][:1], {**AGE[0][1], "allow_age": False})], f"{INPUTS}/0", "allow_age"),
    ([(f"{INPUTS}/2/from", "application_data.age"), (f"{INPUTS}/2/allow_age", True)], f"{INPUTS}/2",
     "must be a number"),
    ([(f"{INPUTS}/1/ratio/0", "application_data.age"), (f"{INPUTS}/1/allow_age", True)], f"{INPUTS}/1",
     "not combine the age"),
    ([*AGE, (BINS, [*OLD[:3], {"points": 8}])], BINS, "1002.6(b)(2)"),
    ([*AGE, (BINS, [*OLD[:2], {"below": "62.5", "points": 8}, {"points": 9}])], BINS, "1002.6(b)(2)"),
    ([(f"{INPUTS}/0", {"name": "income", "months_since": "application_data.date_of_birth", "allow_age": True}), (BINS,
     [{"missing": True, "points": 0}, {"below": 744, "points": 9}, {"points": 8}])], BINS, "1002.6(b)(2)"),
    ([(f"{INPUTS}/0/from", "application_data.birth.year"), (f"{INPUTS}/0/allow_age", True)], f"{INPUTS}/0",
     "with `months_since`"),
    ([*AGE, (BINS, OLD), ("/knockouts/0", KNOCKOUT)], "/knockouts/0/input", "can't be a knock"),
    ([("/outcomes/0/from", DELETE)], "/outcomes/0", "Every outcome except"),
    ([("/outcomes/2/from", 1)], "/outcomes/2", "The last outcome must not"),
    ([("/outcomes/0/outcome", "refer"), ("/outcomes/1/outcome", "approve")], "/outcomes", "in this order"),
    ([("/segments/1", {"name": "b", "from": 700})], "/segments/1/from", "below the previous `from`"),
    ([("/segments/1", {"name": "prime", "from": 1})], "/segments", "its own name"),
]  # fmt: skip


@pytest.mark.parametrize(("edits", "pointer", "message"), REFUSED)
def test_error_for_an_invalid_scorecard_definition_contains_the_json_pointer(edits, pointer, message):
    result = refusals(changed(*edits) if edits else [])
    assert any(at == pointer and message in text for at, text in result), result
