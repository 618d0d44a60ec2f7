"""Test the content of scorecards as PMML 4.4. test_jpmml.py compares the results of an engine."""

import json
import random
import re
from pathlib import Path
from xml.etree import ElementTree as ET

from credit.scoring import definition as definitions
from credit.scoring import pmml
from tests.credit.scoring import pairs
from tests.credit.scoring.cards import definition


def extension(document):
    """Return the definition in a document's extension."""
    return json.loads(ET.fromstring(document).findtext(".//{*}Extension"))


def random_cards(count, seed):
    chance = random.Random(seed)
    for _ in range(count):
        card_pair, _ = pairs.card(chance)
        yield pairs.with_rules(chance, card_pair)


def test_pmml_extension_contains_the_complete_scorecard_definition():
    for random_card in random_cards(150, 1):
        definitions.check(random_card)
        assert extension(pmml.write(random_card, name="a < b")) == random_card


def every_kind():
    """Return a card with an input of each kind, and bins of each form."""
    nothing = {"missing": True, "points": 0}
    kinds = [
        (
            {"from": "application_data.n", "type": "number"},
            [{"below": -1, "points": 1}, nothing, {"below": "0.5", "points": 2}, {"points": 3}],
        ),
        (
            {"ratio": ["application_data.a", "application_data.b"]},
            [nothing, {"below": "0.4", "points": 4}, {"points": 5}],
        ),
        ({"sum": ["application_data.a", "application_data.b", "application_data.c"]}, [nothing, {"points": 6}]),
        ({"months_since": "application_data.day"}, [nothing, {"below": 12, "points": 7}, {"points": 8}]),
        (
            {"from": "application_data.t", "type": "text"},
            [
                nothing, {"in": ["own"], "points": 9}, {"in": ["a b", 'q"'], "points": 10},
                {"in": ["x\\", "<"], "points": 11}, {"points": 12},
            ],
        ),
        ({"from": "application_data.yes", "type": "boolean"}, [nothing, {"in": [True], "points": 13}, {"points": 14}]),
    ]  # fmt: skip
    names = ["number", "ratio", "sum", "months", "text", "boolean"]
    return definition(
        inputs=[{"name": name, **source} for name, (source, _) in zip(names, kinds, strict=True)],
        characteristics=[
            {"name": f"by {name}", "input": name, "reason": "bankruptcy", "baseline": 9, "bins": bins}
            for name, (_, bins) in zip(names, kinds, strict=True)
        ],
        knockouts=[],
    )


def test_pmml_export_equals_the_file_verified_with_jpmml():
    """Update `every_kind.pmml` only if test_jpmml.py's engine computes the same results from it."""
    assert (
        pmml.write(every_kind(), name="Every <kind>").decode()
        == (Path(__file__).parent / "every_kind.pmml").read_text()
    )


def test_pmml_has_a_separate_field_for_each_input_type_of_a_fact():
    fact = "application_data.a"
    bins = [{"missing": True, "points": 0}, {"points": 1}]
    inputs = [
        {"name": "one", "from": fact, "type": "number"}, {"name": "two", "from": fact, "type": "text"},
        {"name": fact, "ratio": [fact, fact]}, {"name": f"{fact} 2", "months_since": fact},
        {"name": "unused", "from": "application_data.b", "type": "text"},
    ]  # fmt: skip
    each = [
        {"name": item["name"], "input": item["name"], "reason": "bankruptcy", "baseline": 0, "bins": bins}
        for item in inputs[:4]
    ]
    card = definition(inputs=inputs, characteristics=each, knockouts=[])
    written = pmml.write(card, name="x")
    assert re.findall(rb'DataField name="([^"]*)" .*? dataType="([a-z]*)"', written) == [
        (fact.encode(), b"double"), (f"{fact} 2".encode(), b"string"), (f"{fact} 2 2".encode(), b"double"),
    ]  # fmt: skip
    assert re.findall(rb'DerivedField name="([^"]*)"', written) == [f"{fact} 3".encode()]
    assert extension(written) == card


def test_model_name_with_characters_invalid_in_xml_is_escaped():
    assert b'modelName="a&lt;\xef\xbf\xbd&amp;\xef\xbf\xbd"' in pmml.write(definition(), name="a<\x00&\n")
