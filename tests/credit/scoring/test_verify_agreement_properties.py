"""Test that the verifier and the evaluator, which share no code, agree on random cards and facts."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.core.errors import ValidationFailed
from config.core.json_text import canonical_json
from credit.anchoring import verify_decision
from credit.anchoring.verify_decision import OK, parse, verify
from credit.core.card import Card
from credit.scoring import evaluator
from credit.scoring.definition import check
from tests.credit.scoring import pairs
from tests.credit.scoring.bundles import KEY, RECORD_KEYS, bundle
from tests.credit.scoring.cards import definition
from tests.properties import examples


def both(card, facts):
    """Return the evaluator's result, and the verifier's for the same card and facts as canonical JSON."""
    evaluation = evaluator.evaluate(Card.of(card), facts)
    again = verify_decision.score(parse(canonical_json(card).decode()), parse(canonical_json(facts).decode()))
    rests_on_missing = evaluation.missing != () and not evaluation.is_knocked_out
    return (evaluation.total, evaluation.outcome, list(evaluation.reasons), rests_on_missing), tuple(again)


def drawn(random):
    """Return a random card and rows of facts that hit its thresholds, are missing, or have another type."""
    card, samples = pairs.card(random)
    return pairs.with_rules(random, card), [facts for facts, _ in pairs.rows_of(random, samples)]


@given(random=st.integers(0, 2**64).map(Random))
@examples(1_000)
def test_verifier_and_evaluator_agree_on_total_outcome_and_ordered_reasons(random):
    card, rows = drawn(random)
    for facts in rows[:4]:
        ours, again = both(card, facts)
        assert ours == again, (card, facts)


@given(random=st.integers(0, 2**64).map(Random))
@examples(100)
def test_random_scorecards_are_valid_definitions(random):
    try:
        check(drawn(random)[0])
    except ValidationFailed as refused:  # The message has every error.
        pytest.fail(str(refused))


@given(random=st.integers(0, 2**64).map(Random))
@examples(50)
def test_decision_bundle_of_a_random_scorecard_passes_verification(random):
    card, (facts, *_) = drawn(random)
    by_a_person = evaluator.evaluate(Card.of(card), facts).missing != ()
    given_bundle = bundle(card, facts, record_version=4, **({"automated": False} if by_a_person else {}))
    steps = verify(json.dumps(given_bundle).encode(), KEY, [RECORD_KEYS])
    assert [step.state for step in steps] == [OK] * 18, steps[-1]


@pytest.mark.parametrize(("small", "is_below"), [(-1e-20, True), (1e-20, False), (-1e-300, False)])
def test_evaluator_and_verifier_compute_scorecard_sums_with_50_digits(small, is_below):
    bins = [{"missing": True, "points": 1}, {"below": 10**12, "points": 2}, {"points": 3}]
    card = definition(
        inputs=[{"name": "sum", "sum": ["application_data.large", "application_data.small"]}],
        characteristics=[{"name": "c", "input": "sum", "reason": "residence_short", "baseline": 0, "bins": bins}],
        knockouts=[],
        base_points=0,
    )
    ours, again = both(card, {"application_data.large": 10**12, "application_data.small": small})
    assert ours == again
    assert ours[0] == (2 if is_below else 3)


def test_random_test_scorecards_cover_every_outcome_and_most_reasons():
    random, outcomes, reasons, knocked = Random(7), set(), set(), 0
    for _ in range(500):
        card, (facts, *_) = drawn(random)
        evaluation = evaluator.evaluate(Card.of(card), facts)
        outcomes.add(evaluation.outcome)
        reasons.add(len(evaluation.reasons))
        knocked += evaluation.is_knocked_out
    assert outcomes == {"approve", "refer", "decline"}
    assert reasons == {0, 1, 2, 3, 4}
    assert knocked > 20


@given(random=st.integers(0, 2**64).map(Random))
@examples(500)
def test_results_of_a_verified_scorecard_do_not_depend_on_claims(random):
    card, rows = drawn(random)
    card = parse(canonical_json({**card, "verified": True}).decode().replace("application_data", "confirmed"))
    for facts in rows[:4]:
        confirmed = {name.replace("application_data", "confirmed"): value for name, value in facts.items()}
        ours, again = both(card, {**confirmed, **{name: random.choice((1, "x", True)) for name in facts}} | confirmed)
        assert ours == again == both(card, confirmed)[0]
