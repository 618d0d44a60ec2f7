"""The platform's evaluator and JPMML compute the same totals and reasons for random scorecards and facts.

`SCORE_PAIRS=100000` sets the number of pairs. JPMML also lists reasons without a loss, after all other reasons.
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
from tests.credit.scoring.test_record_sources import bundled
from tests.system.credit.scoring.jpmml import WHY_NOT

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

PAIRS = int(os.environ.get("SCORE_PAIRS", "200"))
DECISIONS = int(os.environ.get("DECISIONS", "100"))


def losses(definition, evaluation):
    """Return the points lost for each reason."""
    lost = {}
    for characteristic, points in zip(definition["characteristics"], evaluation.points, strict=True):
        code = key_of(characteristic["reason"])
        lost[code] = lost.get(code, 0) + points.baseline - points.points
    return lost.values()


@pytest.mark.timeout(60 + PAIRS // 50)  # 100,000 pairs take minutes
def test_totals_and_reasons_of_random_scorecards_equal_the_jpmml_results(engine):
    chance, done, hit, missing, ties = random.Random(20260328), 0, 0, 0, 0
    while done < PAIRS:
        random_card, samples = pairs.card(chance)
        definition.check(random_card)
        card, rows = Card.of(random_card), pairs.rows_of(chance, samples)
        answers = engine.compute(pmml.write(random_card, name="random"), [fields for _, fields in rows])
        values = [{each.name: each.read(facts) for each in card.inputs} for facts, _ in rows]
        for (facts, fields), (total, codes) in zip(rows, answers, strict=True):
            evaluation = evaluate(card, facts)
            lost = losses(random_card, evaluation)
            assert len(codes) == sum(loss >= 0 for loss in lost)
            wanted = codes[: min(REASONS_MAX, sum(loss > 0 for loss in lost))]
            assert (evaluation.total, [key_of(each) for each in evaluation.reasons]) == (total, wanted), (
                random_card,
                fields,
            )
            missing += bool(evaluation.missing)
            ties += len({each.baseline - each.points for each in evaluation.points}) < len(evaluation.points)
        for characteristic in card.characteristics:
            thresholds = {each.below for each in characteristic.bins if each.below is not None}
            assert thresholds <= {each[characteristic.input] for each in values}, "no row equals this threshold"
            hit += len(thresholds)
        done += len(rows)
    print(f"{done} pairs agree; {hit} thresholds hit exactly, {missing} pairs lack a value, {ties} have equal losses")
    assert hit
    assert missing
    assert ties


def with_confirmed_inputs(chance, definition, rows):
    """Return the scorecard with verified inputs, and its rows. Some claims are confirmed values in both."""
    numbers = [n for n in range(len(definition["inputs"])) if chance.random() < 0.7]
    claims = re.compile(rf"application_data\.f({'|'.join(map(str, numbers)) or 'x'})(?![0-9])")

    def renamed(value):
        return json.loads(claims.sub(r"confirmed.f\1", json.dumps(value)))

    own = {definition["inputs"][n]["name"] for n in numbers}
    more = {"verified": True}
    return {**renamed(definition), **more}, [
        (renamed(facts), {name: value for name, value in renamed(fields).items() if name in own or name[0] == "c"})
        for facts, fields in rows
    ]


@pytest.mark.timeout(60 + DECISIONS // 5)
def test_decisions_with_verified_inputs_equal_the_jpmml_results_for_any_claims(engine):
    """Each record equals JPMML, lists the sources of its facts, and verifies offline. Other claims change no result."""
    chance, done, named = random.Random(7), 0, 0
    while done < DECISIONS:
        random_card, samples = pairs.card(chance)
        random_card, rows = with_confirmed_inputs(chance, random_card, pairs.rows_of(chance, samples))
        definition.check(random_card)
        answers = engine.compute(pmml.write(random_card, name="verified"), [fields for _, fields in rows])
        for (facts, fields), (total, codes) in zip(rows, answers, strict=True):
            evaluation = evaluate(Card.of(random_card), facts)
            lost = sum(loss > 0 for loss in losses(random_card, evaluation))
            wanted = codes[: min(REASONS_MAX, lost)]
            assert (evaluation.total, [key_of(each) for each in evaluation.reasons]) == (total, wanted), (
                random_card,
                fields,
            )
            bundle = bundled(random_card, facts)
            record = members_of(bundle)
            assert (record["total"], {fact["source"] for fact in record["facts"]} <= {"confirmed"}) == (total, True)
            named += len(record["facts"])
            assert FAIL not in {step.state for step in verify(json.dumps(bundle).encode())}
            others = {name: chance.choice((None, 7, "x")) if is_claimed(name) else facts[name] for name in facts}
            assert evaluate(Card.of(random_card), others) == evaluation
        done += len(rows)
    assert named
