"""Test that hostile and random definitions are rejected or accepted without other effects."""

import copy
import json
import random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.core.errors import ValidationFailed
from config.core.json_text import canonical_json
from credit.core.card import Card
from credit.scoring import pmml
from credit.scoring.changes import changes
from credit.scoring.definition import check
from credit.scoring.evaluator import evaluate
from tests.credit.scoring import pairs
from tests.credit.scoring.cards import definition
from tests.credit.scoring.refusals import BINS, INPUTS, changed, known_facts, refusals  # noqa: F401  a fixture
from tests.credit.scoring.test_pmml import extension
from tests.properties import PROFILE, examples

pytestmark = pytest.mark.usefixtures("known_facts")


LONG = "x" * 100_000
ODD = [
    None, True, 0, -1, 1.5, 1e308, -0.0, float("nan"), float("inf"), 10**30, "", LONG, "\x00", "1e999", "\u0661", [],
    {}, [[]] * 1000, [None] * 10_000, {"a": {}}, {LONG: LONG}, {str(number): number for number in range(5000)},
]  # fmt: skip


def nested(levels):
    whole = 1
    for number in range(levels):
        whole = [whole] if number % 2 else {"inputs": whole}
    return whole


HOSTILE = {
    "deep": nested(900), "deep below a known member": {**definition(), "inputs": [nested(900)]},
    "a hundred thousand inputs": {**definition(), "inputs": definition()["inputs"] * 25_000},
    "a hundred thousand characteristics": {**definition(), "characteristics": definition()["characteristics"] * 33_000},
    "a hundred thousand members": {**definition(), **{str(number): 1 for number in range(100_000)}},
    "a hundred thousand bins": changed((BINS, [{"below": number, "points": 1} for number in range(100_000)])),
    "a hundred thousand values": changed(("/characteristics/2/bins/1/in", [str(number) for number in range(100_000)])),
    "a hundred thousand outcomes": changed(("/outcomes", [{"outcome": "refer", "from": 1}] * 100_000)),
    "a long threshold": changed((f"{BINS}/1/below", "1" * 100_000)),
    "a long threshold that almost fits": changed((f"{BINS}/1/below", "1." + "1" * 100_000)),
    "a long fact": changed((f"{INPUTS}/0/from", "application_data" + ".a" * 50_000)),
    "a long reason": changed(("/characteristics/0/reason", LONG)), "a long member": {**definition(), LONG: 1},
    "a huge number": changed(("/base_points", 10**4000)),
}  # fmt: skip


@pytest.mark.timeout(60)
def test_hostile_scorecard_definition_is_rejected_with_a_short_message():
    for case, hostile in HOSTILE.items():
        assert sum(len(at) + len(said) for at, said in refusals(hostile)) < 20_000, case


def places(node, here=""):
    """Yield the pointers to everything in a definition."""
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield f"{here}/{name}"
        if isinstance(value, dict | list):
            yield from places(value, f"{here}/{name}")


WORDS = [
    "name", "input", "in", "below", "missing", "points", "from", "code", "text", "other", "1.5", "application_data.a",
    "income_insufficient",
]  # fmt: skip
PLACES = sorted(places(definition()))


@pytest.mark.parametrize("odd", range(len(ODD)))
def test_unusual_value_in_a_definition_is_rejected_or_evaluated(odd):
    for place in PLACES if PROFILE != "quick" else PLACES[odd % 6 :: 6]:
        _refused_or_computed(changed((place, ODD[odd])))


def _refused_or_computed(one):
    """Check a definition. If it is accepted, compute and explain a score, and write the definition as JSON and PMML."""
    try:
        check(one)
    except ValidationFailed as refusal:
        json.dumps(refusal.details)
        return
    assert orjson.loads(canonical_json(one)) == one
    card = Card.of(one)
    for value in (None, 0, 1.5, "own", True, "2020-01-31", 2**70):
        evaluation = evaluate(card, dict.fromkeys(card.facts, value) | {"scored_on": "2026-01-31"})
        changes(card, evaluation)
    assert extension(pmml.write(one, name="x")) == one


@examples(150)
@given(st.data())
def test_random_scorecard_definition_is_rejected_or_stored(data):
    drawn = random.Random(data.draw(st.integers(0, 50)))
    changed_pair = copy.deepcopy(pairs.with_rules(drawn, pairs.card(drawn)[0]))
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
        | st.sampled_from([*WORDS, *pairs.WORDS]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
        max_leaves=8,
    )  # fmt: skip
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(sorted(places(changed_pair))))
        *path, last = (int(part) if part.isdigit() else part for part in where.strip("/").split("/"))
        at = changed_pair
        for part in path:
            at = at[part]
        at[last] = data.draw(values)
    _refused_or_computed(changed_pair)
