"""Scorecards as PMML 4.4, written and read back."""

import random
import re

import pytest

from credit.scoring import definition as definitions
from credit.scoring import pmml, pmml_reading
from credit.scoring.card import Card
from credit.scoring.evaluator import evaluate
from tests.credit.scoring import pairs
from tests.credit.scoring.cards import definition
from tests.credit.scoring.foreign_cards import TERMS, refusal


def bare(document):
    """Return a document without our Extension: any other program's."""
    return re.sub(rb"<Extension .*?</Extension>", b"", document)


def random_cards(count, seed):
    chance = random.Random(seed)
    for _ in range(count):
        one, samples = pairs.card(chance)
        yield pairs.with_rules(chance, one), pairs.rows_of(chance, samples)


def test_a_definition_comes_back_as_it_was():
    for one, _ in random_cards(150, 1):
        definitions.check(one)
        assert pmml_reading.read(pmml.write(one, name="a < b")) == one


def test_a_card_of_ours_without_its_extension_computes_the_same():
    for one, rows in random_cards(150, 2):
        # Months are counted by whoever calls: another program's card cannot say them.
        if any("months_since" in each for each in one["inputs"]):
            continue
        foreign = pmml_reading.read(bare(pmml.write(one, name="x")), TERMS)
        assert [len(each["bins"]) for each in foreign["characteristics"]] == [
            len(each["bins"]) for each in one["characteristics"]
        ] or any(each.get("type") == "boolean" for each in one["inputs"])
        plain = {name: one[name] for name in one if name not in {"knockouts", "range"}}
        for facts, _ in rows:
            ours, theirs = (evaluate(Card.of(each), facts) for each in (plain, foreign))
            assert (ours.total, ours.reasons) == (theirs.total, theirs.reasons)


def test_a_card_that_was_changed_beside_its_definition_is_refused_by_the_element():
    written = pmml.write(definition(knockouts=[], inputs=definition()["inputs"][:3]), name="x")
    assert pmml_reading.read(written)
    for old, new, where in (
        (b'partialScore="70"', b'partialScore="71"', "Scorecard/Characteristics[5]/Characteristic[1]/Attribute[3]"),
        (b'initialScore="500"', b'initialScore="501"', "PMML/Scorecard:"),
        (b'value="150000"', b'value="150001"', "Attribute[2]/SimplePredicate[1]"),
        (b'"rent" "family"', b'"rent" "fam"', "Array[1]"),
        (b'dataType="string"/>', b'dataType="double"/>', "PMML/DataDictionary"),
        (b"<DataDictionary", b"<Other/><DataDictionary", ""),
    ):
        changed = written.replace(b" />", b"/>").replace(old, new, 1)
        assert old in written.replace(b" />", b"/>")
        if where:
            said = refusal(changed, None)
            assert where in said
            assert "differs from the definition in the Extension" in said
    assert "has outcomes, facts and reasons of its own" in refusal(written, TERMS)


@pytest.mark.parametrize("content", [b"", b"[", b"[[[[[[[[[[[[1]]]]]]]]]]]]", b"{}", b"1e999", b"null", b'"x"'])
def test_an_extension_that_holds_no_definition_is_refused(content):
    written = pmml.write(definition(), name="x")
    assert refusal(re.sub(rb"(<Extension [^>]*>).*?(</)", lambda found: found[1] + content + found[2], written), None)


def test_facts_that_are_read_twice_are_two_fields_and_derived_ones_have_names_of_their_own():
    fact = "application_data.a"
    bins = [{"missing": True, "points": 0}, {"points": 1}]
    inputs = [
        {"name": "one", "from": fact, "type": "number"},
        {"name": "two", "from": fact, "type": "text"},
        {"name": fact, "ratio": [fact, fact]},
        {"name": f"{fact} 2", "months_since": fact},
        {"name": "unused", "from": "application_data.b", "type": "text"},
    ]
    each = [
        {"name": one["name"], "input": one["name"], "reason": "bankruptcy", "baseline": 0, "bins": bins}
        for one in inputs[:4]
    ]
    one = definition(inputs=inputs, characteristics=each, knockouts=[])
    written = pmml.write(one, name="x")
    assert re.findall(rb'DataField name="([^"]*)" .*? dataType="([a-z]*)"', written) == [
        (fact.encode(), b"double"),
        (f"{fact} 2".encode(), b"string"),
        (f"{fact} 2 2".encode(), b"double"),
    ]
    assert re.findall(rb'DerivedField name="([^"]*)"', written) == [f"{fact} 3".encode()]
    assert pmml_reading.read(written) == one


def test_the_name_of_a_model_may_hold_what_xml_cannot():
    assert b'modelName="a&lt;\xef\xbf\xbd&amp;\xef\xbf\xbd"' in pmml.write(definition(), name="a<\x00&\n")
