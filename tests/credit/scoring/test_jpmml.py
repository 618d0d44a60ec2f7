"""The evaluator against JPMML: equal totals and equal reasons, in order, of random pairs of a card and facts.

`SCORE_PAIRS=100000` asks for that many. JPMML also lists the reasons whose loss is zero, behind the others.
"""

import os
import random

import pytest

from credit.scoring import definition, pmml
from credit.scoring.card import Card
from credit.scoring.evaluator import REASONS_MAX, evaluate
from tests.credit.scoring import pairs
from tests.credit.scoring.jpmml import WHY_NOT, Engine

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

PAIRS = int(os.environ.get("SCORE_PAIRS", "600"))
# A hundred thousand take minutes.
SECONDS = 60 + PAIRS // 50


@pytest.fixture(scope="module")
def engine():
    with Engine() as started:
        yield started


def losing_codes(one, found):
    """Return how many reasons some points were lost for."""
    losses = {}
    for given, points in zip(one["characteristics"], found.points, strict=True):
        code = pmml.reason_code(given["reason"])
        losses[code] = losses.get(code, 0) + points.baseline - points.points
    return sum(loss > 0 for loss in losses.values())


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
            wanted = codes[: min(REASONS_MAX, losing_codes(one, found))]
            assert (found.total, [pmml.reason_code(each) for each in found.reasons]) == (total, wanted), (one, fields)
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
