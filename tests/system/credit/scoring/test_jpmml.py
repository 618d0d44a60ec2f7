"""The evaluator against JPMML: equal totals and equal ordered reasons for random pairs of a scorecard and facts.

`SCORE_PAIRS=100000` sets their number. JPMML also lists the reasons without a loss, after the others.
"""

import json
import os
import random
import re

import pytest

from credit.anchoring.verify_decision import FAIL, verify
from credit.core.card import Card, is_claimed
from credit.core.reasons import key_of
from credit.scoring import definition, pmml
from credit.scoring.evaluator import REASONS_MAX, evaluate
from tests.credit.scoring import pairs
from tests.credit.scoring.bundles import members_of
from tests.credit.scoring.test_record_sources import DECISIONS, bundled
from tests.system.credit.scoring.jpmml import WHY_NOT, Engine

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

PAIRS = int(os.environ.get("SCORE_PAIRS", "600"))
# 100,000 pairs take minutes.
SECONDS = 60 + PAIRS // 50


@pytest.fixture(scope="module")
def engine():
    with Engine() as started:
        yield started


def losses(one, found):
    """Return the points lost for each reason."""
    lost = {}
    for characteristic, points in zip(one["characteristics"], found.points, strict=True):
        code = key_of(characteristic["reason"])
        lost[code] = lost.get(code, 0) + points.baseline - points.points
    return lost.values()


@pytest.mark.timeout(SECONDS)
def test_totals_and_reasons_of_random_scorecards_equal_those_of_jpmml(engine):
    chance, done, hit, missing, ties = random.Random(20260328), 0, 0, 0, 0
    while done < PAIRS:
        card_pair, samples = pairs.card(chance)
        definition.check(card_pair)
        card, rows = Card.of(card_pair), pairs.rows_of(chance, samples)
        answers = engine.compute(pmml.write(card_pair, name="random"), [fields for _, fields in rows])
        values = [{each.name: each.read(facts) for each in card.inputs} for facts, _ in rows]
        for (facts, fields), (total, codes) in zip(rows, answers, strict=True):
            evaluation = evaluate(card, facts)
            lost = losses(card_pair, evaluation)
            assert len(codes) == sum(loss >= 0 for loss in lost)
            wanted = codes[: min(REASONS_MAX, sum(loss > 0 for loss in lost))]
            assert (evaluation.total, [key_of(each) for each in evaluation.reasons]) == (total, wanted), (
                card_pair,
                fields,
            )
            missing += bool(evaluation.missing)
            ties += len({each.baseline - each.points for each in evaluation.points}) < len(evaluation.points)
        for characteristic in card.characteristics:
            thresholds = {each.below for each in characteristic.bins if each.below is not None}
            assert thresholds <= {each[characteristic.input] for each in values}, "a threshold that nobody hits"
            hit += len(thresholds)
        done += len(rows)
    print(f"{done} pairs agree; {hit} thresholds hit exactly, {missing} pairs miss something, {ties} have equal losses")
    assert hit
    assert missing
    assert ties


def sourced_of(chance, one, rows):
    """Return a random scorecard with verified inputs, and its rows: some claims are confirmed values in both."""
    numbers = [n for n in range(len(one["inputs"])) if chance.random() < 0.7]
    claims = re.compile(rf"application_data\.f({'|'.join(map(str, numbers)) or 'x'})(?![0-9])")

    def renamed(value):
        return json.loads(claims.sub(r"confirmed.f\1", json.dumps(value)))

    own = {one["inputs"][n]["name"] for n in numbers}
    more = {"verified": True}
    return {**renamed(one), **more}, [
        (renamed(facts), {name: value for name, value in renamed(fields).items() if name in own or name[0] == "c"})
        for facts, fields in rows
    ]


@pytest.mark.timeout(60 + DECISIONS // 5)
def test_decisions_of_random_verified_scorecards_equal_jpmml_for_any_claims(engine):
    """For each decision, the record lists the sources, verifies offline, and equals JPMML; a claim changes nothing."""
    chance, done, named = random.Random(7), 0, 0
    while done < DECISIONS:
        card_pair, samples = pairs.card(chance)
        card_pair, rows = sourced_of(chance, card_pair, pairs.rows_of(chance, samples))
        definition.check(card_pair)
        answers = engine.compute(pmml.write(card_pair, name="verified"), [fields for _, fields in rows])
        for (facts, fields), (total, codes) in zip(rows, answers, strict=True):
            evaluation = evaluate(Card.of(card_pair), facts)
            lost = sum(loss > 0 for loss in losses(card_pair, evaluation))
            wanted = codes[: min(REASONS_MAX, lost)]
            assert (evaluation.total, [key_of(each) for each in evaluation.reasons]) == (total, wanted), (
                card_pair,
                fields,
            )
            bundle = bundled(card_pair, facts)
            record = members_of(bundle)
            assert (record["total"], {fact["source"] for fact in record["facts"]} <= {"confirmed"}) == (total, True)
            named += len(record["facts"])
            assert FAIL not in {step.state for step in verify(json.dumps(bundle).encode())}
            others = {name: chance.choice((None, 7, "x")) if is_claimed(name) else facts[name] for name in facts}
            assert evaluate(Card.of(card_pair), others) == evaluation
        done += len(rows)
    assert named
