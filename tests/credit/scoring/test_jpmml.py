"""The evaluator against JPMML: equal totals and equal reasons, in order, of random pairs of a card and facts.

`SCORE_PAIRS=100000` asks for that many. JPMML also lists the reasons whose loss is zero, behind the others.
"""

import os
import random
import re

import pytest

from credit.reasons import key_of
from credit.scoring import definition, pmml, pmml_reading
from credit.scoring.card import Card
from credit.scoring.evaluator import REASONS_MAX, evaluate
from tests.credit.scoring import pairs
from tests.credit.scoring.foreign_cards import TERMS
from tests.credit.scoring.jpmml import WHY_NOT, Engine
from tests.credit.scoring.test_pmml_foreign import ACCEPTED

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

PAIRS = int(os.environ.get("SCORE_PAIRS", "600"))
# A hundred thousand take minutes.
SECONDS = 60 + PAIRS // 50


@pytest.fixture(scope="module")
def engine():
    with Engine() as started:
        yield started


def losses(one, found):
    """Return what was lost for each reason."""
    lost = {}
    for given, points in zip(one["characteristics"], found.points, strict=True):
        code = key_of(given["reason"])
        lost[code] = lost.get(code, 0) + points.baseline - points.points
    return lost.values()


@pytest.mark.timeout(SECONDS)
def test_a_random_card_gives_random_people_the_total_and_the_reasons_that_jpmml_gives_them(engine):
    chance, done, hit, missing, ties = random.Random(20260328), 0, 0, 0, 0
    while done < PAIRS:
        one, samples = pairs.card(chance)
        definition.check(one)
        card, rows = Card.of(one), pairs.rows_of(chance, samples)
        answers = engine.compute(pmml.write(one, name="random"), [fields for _, fields in rows])
        values = [{each.name: each.read(facts) for each in card.inputs} for facts, _ in rows]
        for (facts, fields), (total, codes) in zip(rows, answers, strict=True):
            found = evaluate(card, facts)
            lost = losses(one, found)
            assert len(codes) == sum(loss >= 0 for loss in lost)
            wanted = codes[: min(REASONS_MAX, sum(loss > 0 for loss in lost))]
            assert (found.total, [key_of(each) for each in found.reasons]) == (total, wanted), (one, fields)
            missing += bool(found.missing)
            ties += len({each.baseline - each.points for each in found.points}) < len(found.points)
        for characteristic in card.characteristics:
            thresholds = {each.below for each in characteristic.bins if each.below is not None}
            assert thresholds <= {each[characteristic.input] for each in values}, "a threshold that nobody hits"
            hit += len(thresholds)
        done += len(rows)
    print(f"{done} pairs agree; {hit} thresholds hit exactly, {missing} pairs miss something, {ties} have equal losses")
    assert hit
    assert missing
    assert ties


# What a field of each type may hold. JPMML takes a number for the text of it, and has no result for a half integer.
VALUES = {
    "double": [-1e9, -3, -2.5, 0, 0.49999, 0.5, 2.4999, 2.5, 3, 6.9999, 7, 9.9999, 10, 10.0001, 1e9],
    "integer": [-4, -3, -2, 0, 4, 5, 6, 7, 8, 9, 10, 11, 10**6],
    "string": ["a", "b", "c", "a b", "d e", 'f"g', "", "A", "unlisted"],
    "boolean": [True, False],
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_another_programs_card_is_read_as_jpmml_computes_it(engine, case):
    document, _ = ACCEPTED[case]
    kind = re.search(r'<DataField name="x" .*?dataType="(\w+)"', document.decode())[1]
    card = Card.of(pmml_reading.read(document, TERMS))
    rows = [{}, *({"x": value} for value in VALUES[kind])]
    compared = 0
    for row, (total, _) in zip(rows, engine.compute(document, rows), strict=True):
        # Without a result there, every result of ours is as good.
        if total is not None:
            found = evaluate(card, {f"application_data.{name}": value for name, value in row.items()})
            assert found.total == total, row
            compared += 1
    assert compared >= 3
