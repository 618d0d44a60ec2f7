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
REFUSED = {
    # The JSON Schema rejects these definitions.
    "no object": ([], "", "Must be object."),
    "members that are not there": ([("/base_points", DELETE), ("/outcomes", DELETE)], "", "Must have base_points"),
    "an unknown member": ([("/code", "1+1")], "", "Unknown field 'code'"),
    "no inputs": ([("/inputs", [])], "/inputs", "at least 1"),
    "too many inputs": ([("/inputs", [{"name": "a"}] * 51)], "/inputs", "at most 50"),
    "too many knockouts": ([("/knockouts", [KNOCKOUT] * 21)], "/knockouts", "at most 20"),
    "too many characteristics": ([("/characteristics", definition()["characteristics"][:1] * 51)], "/characteristics",
     "at most 50"),
    "too many bins": ([(BINS, [{"points": 1}] * 51)], BINS, "at most 50"),
    "too many values": ([("/characteristics/2/bins/1/in", [str(n) for n in range(201)])],
     "/characteristics/2/bins/1/in", "at most 200"),
    "too many segments": ([("/segments", [{"name": "a", "from": 1}] * 21)], "/segments", "at most 20"),
    "too many parts of a sum": ([(f"{INPUTS}/1", {"name": "debt_to_income", "sum": ["application_data.a"] * 11})],
     f"{INPUTS}/1/sum", "at most 10"),
    "a ratio of three": ([(f"{INPUTS}/1/ratio", ["application_data.a"] * 3)], f"{INPUTS}/1/ratio", "at most 2"),
    "a name that is empty": ([(f"{INPUTS}/0/name", "")], f"{INPUTS}/0/name", "at least 1 char"),
    "a name that is long": ([(f"{INPUTS}/0/name", "n" * 101)], f"{INPUTS}/0/name", "at most 100 char"),
    "a name with a control character": ([(f"{INPUTS}/0/name", "a\nb")], f"{INPUTS}/0/name", "control character"),
    "a value that XML cannot hold": ([("/characteristics/2/bins/1/in/0", "\uffff")], "/characteristics/2/bins/1/in/0",
     "XML does not allow"),
    "a fact that is long": ([(f"{INPUTS}/0/from", "application_data." + "a" * 200)], f"{INPUTS}/0/from", "at most 200"),
    "another type": ([(f"{INPUTS}/0/type", "date")], f"{INPUTS}/0/type", "number or text or boolean"),
    "points that are a float": ([("/base_points", 1.0)], "/base_points", "Must be integer."),
    "points that are a truth": ([("/base_points", True)], "/base_points", "Must be integer."),
    "points that are infinite": ([("/base_points", float("inf"))], "/base_points", "Must be integer."),
    "points that are no number": ([("/base_points", float("nan"))], "/base_points", "Must be integer."),
    "more points than there are": ([("/base_points", 1_000_001)], "/base_points", "at most 1000000"),
    "fewer points": ([(f"{BINS}/0/points", -1_000_001)], f"{BINS}/0/points", "at least -1000000"),
    "a bound that is a text": ([("/outcomes/0/from", "640")], "/outcomes/0/from", "Must be integer."),
    "a threshold that is a float": ([(f"{BINS}/1/below", 0.5)], f"{BINS}/1/below", "integer or string"),
    "a threshold with an exponent": ([(f"{BINS}/1/below", "1e3")], f"{BINS}/1/below", "without an exponent"),
    "a threshold with a line end": ([(f"{BINS}/1/below", "1.5\n")], f"{BINS}/1/below", "without an exponent"),
    "a threshold with a sign": ([(f"{BINS}/1/below", "+1.5")], f"{BINS}/1/below", "without an exponent"),
    "a threshold with a zero before it": ([(f"{BINS}/1/below", "01.5")], f"{BINS}/1/below", "without an exponent"),
    "a threshold of other digits": ([(f"{BINS}/1/below", "\u0661")], f"{BINS}/1/below", "without an exponent"),
    "a threshold that is too fine": ([(f"{BINS}/1/below", "0.12345678901")], f"{BINS}/1/below", "without an exponent"),
    "a threshold that is too large": ([(f"{BINS}/1/below", 10**15)], f"{BINS}/1/below", "at most 999999999999999"),
    "a threshold that is not a number": ([(f"{BINS}/1/below", "NaN")], f"{BINS}/1/below", "without an exponent"),
    "missing that is false": ([(f"{BINS}/0/missing", False)], f"{BINS}/0/missing", ""),
    "a value that is a number": ([("/characteristics/2/bins/1/in/0", 5)], "/characteristics/2/bins/1/in/0",
     "string or boolean"),
    "a reason of two members more": ([("/characteristics/0/reason", {"code": "other"})], "/characteristics/0/reason",
     "Must have text."),
    "a reason of another code": ([("/characteristics/0/reason", {"code": "mine", "text": "x"})],
     "/characteristics/0/reason/code", "Must be other."),
    "an outcome of a knockout": ([("/knockouts/0/outcome", "approve")], "/knockouts/0/outcome", "refer or decline"),
    "a range of three": ([("/range", [1, 2, 3])], "/range", "at most 2"),
    # Other rules reject these definitions.
    "an input without a source": ([(f"{INPUTS}/0", {"name": "income"})], f"{INPUTS}/0", "exactly one of from"),
    "an input of two sources": ([(f"{INPUTS}/0/months_since", "application_data.a")], f"{INPUTS}/0",
     "exactly one of from"),
    "a source without a type": ([(f"{INPUTS}/0/type", DELETE)], f"{INPUTS}/0", "`type` is allowed"),
    "a ratio with a type": ([(f"{INPUTS}/1/type", "number")], f"{INPUTS}/1", "`type` is allowed"),
    "an input twice": ([(f"{INPUTS}/1/name", "income")], f"{INPUTS}/1/name", "another input"),
    "a fact that is none": ([(f"{INPUTS}/0/from", "bank.balance")], f"{INPUTS}/0/from", "Unknown fact"),
    "a path with an empty part": ([(f"{INPUTS}/1/ratio/1", "application_data..a")], f"{INPUTS}/1/ratio/1",
     "Unknown fact"),
    "a fact of another type": ([(f"{INPUTS}/0/from", "identity.verified")], f"{INPUTS}/0/from",
     "Must be a number. This fact is a boolean."),
    "months since a number": ([(f"{INPUTS}/0", {"name": "income", "months_since": "account.age_days"})],
     f"{INPUTS}/0/months_since", "Must be a text. This fact is a number."),
    "a prohibited ground": ([(f"{INPUTS}/1/ratio/0", "application_data.person.maritalStatus")], f"{INPUTS}/1/ratio/0",
     "1002.2(z)"),
    "a social network": ([(f"{INPUTS}/1/ratio/0", "application_data.facebook_friends")], f"{INPUTS}/1/ratio/0",
     "Article 18(3)"),
    "a knockout of no input": ([("/knockouts/0/input", "x")], "/knockouts/0/input", "name of an input"),
    "a knockout without a test": ([("/knockouts/0/equals", DELETE)], "/knockouts/0", "exactly one of equals"),
    "a knockout of two tests": ([("/knockouts/0/in", [True])], "/knockouts/0", "exactly one of equals"),
    "a bound for a truth": ([("/knockouts/0", {**KNOCKOUT, "input": "identity_verified"})], "/knockouts/0/below",
     "Is not allowed for"),
    "a value for a number": ([("/knockouts/0/input", "income")], "/knockouts/0/equals", "Is not allowed for"),
    "a text for a truth": ([("/knockouts/0/equals", "no")], "/knockouts/0/equals", "Must be a boolean"),
    "a truth for a text": ([("/characteristics/2/bins/1/in", [True])], "/characteristics/2/bins/1/in",
     "Must be a text"),
    "a knockout's reason": ([("/knockouts/0/reason", "score_too_low")], "/knockouts/0/reason",
     "Must be a principal reason"),
    "a reason that is none": ([("/characteristics/0/reason", "score_too_low")], "/characteristics/0/reason",
     "Must be a principal"),
    "a reason of spaces": ([("/characteristics/0/reason", {"code": "other", "text": "  "})],
     "/characteristics/0/reason/text", "a specific factor"),
    "a reason that names no factor": (
        [("/characteristics/0/reason", {"code": "other", "text": "Insufficient points"})],
        "/characteristics/0/reason/text", "a specific factor"),
    "a reason that names a report": (
        [("/characteristics/0/reason", "inquiries_recent")], "/characteristics/0/reason", "inquiries_stated"),
    "a reason that is a code": ([("/characteristics/0/reason", {"code": "other", "text": "bankruptcy"})],
     "/characteristics/0/reason/text", "Send its code"),
    "a reason that says a code's words": ([("/knockouts/0/reason", {"code": "other", "text": REASONS["bankruptcy"]})],
     "/knockouts/0/reason/text", "Send its code"),
    "a characteristic twice": ([("/characteristics/1/name", "income")], "/characteristics/1/name",
     "another characteristic"),
    "a characteristic of no input": ([("/characteristics/1/input", "x")], "/characteristics/1/input",
     "name of an input"),
    "an input that counts twice": ([("/characteristics/1/input", "income")], "/characteristics/1/input", "has a"),
    "a bin of two kinds": ([(f"{BINS}/1/in", ["a"])], f"{BINS}/1", "below and in"),
    "values for a number": ([(f"{BINS}/1", {"in": ["a"], "points": 1})], f"{BINS}/1/in", "Is not allowed for"),
    "a bound for a text": ([("/characteristics/2/bins/1", {"below": 1, "points": 1})],
     "/characteristics/2/bins/1/below", "Is not allowed for"),
    "no bin for what is missing": ([(f"{BINS}/0", DELETE)], BINS, "exactly one bin for missing values"),
    "two bins for what is missing": ([(f"{BINS}/1", {"missing": True, "points": 1})], BINS, "missing values"),
    "no open bin": ([(f"{BINS}/3", DELETE)], BINS, "exactly one open bin"),
    "two open bins": ([(f"{BINS}/1", {"points": 1})], BINS, "exactly one open bin"),
    "an open bin before others": ([(BINS, [{"missing": True, "points": 1}, {"points": 1}, {"below": 1, "points": 1}])],
     BINS, "after the others"),
    "bounds that fall": ([(f"{BINS}/2/below", 5)], f"{BINS}/2/below", "above the bound"),
    "the same bound in two spellings": ([(f"{BINS}/2/below", "150000.0")], f"{BINS}/2/below", "above the bound"),
    "a value in two bins": ([("/characteristics/2/bins/2/in/0", "own")], "/characteristics/2/bins/2/in",
     "Must not contain a value twice"),
    "a value twice in one": ([("/characteristics/2/bins/2/in/0", "family")], "/characteristics/2/bins/2/in", "twice"),
    "age that is not allowed": ([(*AGE[0][:1], {**AGE[0][1], "allow_age": False})], f"{INPUTS}/0", "allow_age"),
    "age as a text": ([(f"{INPUTS}/2/from", "application_data.age"), (f"{INPUTS}/2/allow_age", True)], f"{INPUTS}/2",
     "must be a number"),
    "a ratio of age": ([(f"{INPUTS}/1/ratio/0", "application_data.age"), (f"{INPUTS}/1/allow_age", True)],
     f"{INPUTS}/1", "not combine it"),
    "less for the elderly": ([*AGE, (BINS, [*OLD[:3], {"points": 8}])], BINS, "1002.6(b)(2)"),
    "less for some of the elderly": ([*AGE, (BINS, [*OLD[:2], {"below": "62.5", "points": 8}, {"points": 9}])], BINS,
     "1002.6(b)(2)"),
    "a birth date counted in months": ([(f"{INPUTS}/0", {"name": "income", "months_since":
     "application_data.date_of_birth", "allow_age": True}), (BINS, [{"missing": True, "points": 0}, {"below": 744,
     "points": 9}, {"points": 8}])], BINS, "1002.6(b)(2)"),
    "a year of birth as a number": ([(f"{INPUTS}/0/from", "application_data.birth.year"), (f"{INPUTS}/0/allow_age",
     True)], f"{INPUTS}/0", "with `months_since`"),
    "age that knocks out": ([*AGE, (BINS, OLD), ("/knockouts/0", KNOCKOUT)], "/knockouts/0/input", "can't be a knock"),
    "outcomes that are not bounded": ([("/outcomes/0/from", DELETE)], "/outcomes/0", "Every outcome except"),
    "a last outcome that is bounded": ([("/outcomes/2/from", 1)], "/outcomes/2", "The last outcome must not"),
    "outcomes in another order": ([("/outcomes/0/outcome", "refer"), ("/outcomes/1/outcome", "approve")], "/outcomes",
     "in this order"),
    "outcomes whose bounds rise": ([("/outcomes/1/from", 640)], "/outcomes/1/from", "below the previous `from`"),
    "everybody approved": ([("/outcomes", [{"outcome": "approve"}])], "/outcomes", "would be approved"),
    "segments whose bounds rise": ([("/segments/1", {"name": "b", "from": 700})], "/segments/1/from",
     "below the previous `from`"),
    "segments of one name": ([("/segments/1", {"name": "prime", "from": 1})], "/segments", "its own name"),
    "a range that is none": ([("/range", [5, 5])], "/range", "the lowest total"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_error_for_an_invalid_definition_contains_the_json_pointer(case):
    edits, pointer, message = REFUSED[case]
    result = refusals(changed(*edits) if edits else [])
    assert any(at == pointer and message in said for at, said in result), result
