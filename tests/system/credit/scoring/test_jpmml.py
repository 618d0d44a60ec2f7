"""The evaluator against JPMML: equal totals and equal reasons, in order, of random pairs of a card and facts.

`SCORE_PAIRS=100000` asks for that many. JPMML also lists the reasons whose loss is zero, behind the others.
"""

import os
import random

import pytest

from credit.core.card import Card
from credit.core.reasons import key_of
from credit.scoring import definition, pmml
from credit.scoring.evaluator import REASONS_MAX, evaluate
from tests.credit.scoring import pairs, sourced
from tests.system.credit.scoring.jpmml import WHY_NOT, Engine

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

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


@pytest.mark.timeout(SECONDS)
def test_a_verified_card_has_the_total_and_the_reasons_of_jpmml_whatever_is_claimed(engine):
    one = sourced.card(verified=True)
    definition.check(one)
    chance, card = random.Random(7), Card.of(one)
    rows = [sourced.facts(chance) for _ in range(min(PAIRS, 2_000))]
    # A caller gives the facts of their types; the claims are no fields of the document.
    fields = [{name: value for name, value in facts.items() if value is not None} for facts in rows]
    for facts, (total, codes) in zip(rows, engine.compute(pmml.write(one, name="verified"), fields), strict=True):
        found = evaluate(card, facts)
        lost = sum(loss > 0 for loss in losses(one, found))
        assert (found.total, [key_of(each) for each in found.reasons]) == (total, codes[: min(REASONS_MAX, lost)])
