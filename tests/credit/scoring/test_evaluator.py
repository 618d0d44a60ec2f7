"""Compare the evaluator with results computed by hand and with the verifier, which must detect five mutants."""

import inspect
import random
import textwrap
from itertools import permutations
from unicodedata import normalize

import pytest

from credit.anchoring import verify_decision
from credit.core.card import Card, Characteristic
from credit.scoring import evaluator
from credit.scoring.changes import changes
from credit.scoring.evaluator import evaluate
from tests.credit.scoring import reference
from tests.credit.scoring.cards import GOOD, POOR, definition
from tests.credit.scoring.test_verify_agreement_properties import both, drawn

INCOME, DEBT = "application_data.monthly_income_cents", "application_data.monthly_debt_cents"
HOUSING, VERIFIED = "application_data.housing", "identity.verified"


def of(facts, **changes):
    return evaluate(Card.of(definition(**changes)), facts)


@pytest.mark.parametrize(("income", "points"), [
    (149_999, 20), (149_999.99, 20), (150_000, 70), (150_000.0, 70), (299_999, 70), (300_000, 120), (10**18, 120),
    (-5, 20), (0, 20), (1e308, 120),
])  # fmt: skip
def test_value_at_the_boundary_of_two_scorecard_bins_is_in_the_upper_bin(income, points):
    assert of({**GOOD, INCOME: income}).points[0].points == points


def test_missing_fact_prevents_an_approving_outcome():
    evaluation = of({**GOOD, INCOME: None})
    assert evaluation.points[0].points == 0
    assert (evaluation.missing, evaluation.unreadable) == (("income", "debt_to_income"), ())
    assert (evaluation.total, evaluation.outcome) == (550, "decline")
    assert of({**GOOD, INCOME: None}, base_points=600).outcome == "refer"


@pytest.mark.parametrize("income", [
    "320000", "320000.0", "3.2e5", " 320000", "320,000", "٣٢٠٠٠٠", "", "0", "null", True, False, [], {}, [320_000],
    {"cents": 320_000}, float("nan"), float("inf"), -float("inf"),
])  # fmt: skip
def test_application_with_a_number_field_of_another_type_is_referred_for_any_total(income):
    for base_points in (0, 500, 600):
        evaluation = of({**GOOD, INCOME: income}, base_points=base_points)
        assert (evaluation.missing, evaluation.unreadable) == (("income", "debt_to_income"), (INCOME,))
        assert evaluation.outcome == "refer"
        assert verify_decision.score(definition(base_points=base_points), {**GOOD, INCOME: income}).outcome == "refer"


@pytest.mark.parametrize(("name", "fact"), [
    (HOUSING, 7), (HOUSING, True), (HOUSING, []), (HOUSING, 1.5), (VERIFIED, "true"), (VERIFIED, 1), (VERIFIED, {}),
])  # fmt: skip
def test_application_with_a_text_or_boolean_field_of_another_type_is_referred_without_a_knockout(name, fact):
    assert of({**GOOD, name: fact}).unreadable == (name,)
    assert of({**GOOD, name: fact}).outcome == of({**POOR, name: fact}).outcome == "refer"
    knockouts = [{"input": "debt_to_income", "from": "0.3", "outcome": "decline", "reason": "obligations_excessive"}]
    assert of({**POOR, name: fact}, knockouts=knockouts).outcome == "decline"


# Words of Unicode's NormalizationTest.txt and names of places, in NFC and NFD.
@pytest.mark.parametrize(
    "word", ["Café", "Ångström", "Việt Nam", "Ωmega ΐ", "Zażółć", "가나다", "दि क़", "Škoda", "São Tomé", "Ḍ̇"]
)
def test_scorecard_choices_are_compared_in_nfc(word):
    for listed, said in permutations(normalize(form, word) for form in ("NFC", "NFD")):
        bins = [{"missing": True, "points": 0}, {"in": [listed], "points": 50}, {"points": 0}]
        housing = {**definition()["characteristics"][2], "bins": bins}
        knockouts = [{"input": "housing", "equals": listed, "outcome": "decline", "reason": "residence_temporary"}]
        card = definition(characteristics=[housing], knockouts=knockouts)
        evaluation = evaluate(Card.of(card), {**GOOD, HOUSING: said})
        assert (evaluation.points[0].points, evaluation.outcome) == (50, "decline")
        assert verify_decision.score(card, {**GOOD, HOUSING: said})[:2] == (550, "decline")


def test_decision_records_before_version_4_are_verified_by_the_rules_of_their_version():
    facts = {**GOOD, INCOME: "320000"}
    assert verify_decision.score(definition(), facts, 3)[:2] == (550, "decline")
    knockouts = [{"input": "housing", "equals": "cafe\u0301", "outcome": "decline", "reason": "residence_temporary"}]
    card = definition(knockouts=knockouts)
    assert verify_decision.score(card, {**GOOD, HOUSING: "caf\u00e9"}, 3).outcome == "approve"


def test_ratio_is_computed_without_float_arithmetic_and_is_missing_if_the_denominator_is_zero():
    for debt, points in ((0.1 * 3, 55), (0.3, 55), (0.2, 55), (0.19999999999999998, 80), (0.4, 20)):
        assert of({**GOOD, DEBT: debt, INCOME: 1}).points[1].points == points
    for zero in (0, 0.0, -0.0):
        assert of({**GOOD, INCOME: zero}).points[1].bin == 0


@pytest.mark.parametrize(("then", "now", "months"), [
    ("2026-01-31", "2026-02-28", 0), ("2026-01-31", "2026-03-01", 1), ("2025-02-28", "2026-02-28", 12),
    ("2024-02-29", "2025-02-28", 11), ("2026-02-28", "2026-02-28", 0), ("2026-03-01", "2026-02-28", None),
    ("2026-1-31", "2026-02-28", None), ("20260131", "2026-02-28", None), ("2026-02-30", "2026-03-28", None),
    ("2026-01-31", None, None), (20260131, "2026-02-28", None), ("2026-W05-6", "2026-02-28", None),
])  # fmt: skip
def test_months_since_counts_only_complete_months_and_treats_a_future_date_as_missing(then, now, months):
    inputs = [{"name": "job", "months_since": "application_data.job_began"}]
    card = Card.of(definition(inputs=inputs, characteristics=[], knockouts=[]))
    assert card.inputs[0].read({"application_data.job_began": then, "scored_on": now}) == months


def test_first_matching_scorecard_knockout_applies_and_missing_inputs_never_match():
    evaluation = of({**GOOD, VERIFIED: False})
    assert (evaluation.total, evaluation.outcome, evaluation.is_knocked_out) == (740, "refer", True)
    assert evaluation.reasons == ("identity_unverifiable",)
    knockouts = [
        {"input": "income", "below": 100, "outcome": "decline", "reason": "income_insufficient"},
        {"input": "income", "from": "320000.0", "outcome": "refer", "reason": "income_unverifiable"},
        {"input": "housing", "in": ["own"], "outcome": "decline", "reason": "residence_temporary"},
    ]
    assert of(GOOD, knockouts=knockouts).reasons[0] == "income_unverifiable"
    assert of({**GOOD, INCOME: None}, knockouts=knockouts).reasons[0] == "residence_temporary"
    assert of({**GOOD, INCOME: 99}, knockouts=knockouts).outcome == "decline"


def test_total_is_clamped_before_outcome_and_segment_are_computed():
    assert of(GOOD, range=[0, 600]).total == 600
    assert (of(GOOD, range=[0, 600]).outcome, of(GOOD, range=[0, 600]).segment) == ("refer", None)
    assert of(POOR, range=[640, 900]).outcome == "approve"


def first_disagreement(cards=40, seed=11):
    """Return the first random pair on which the evaluator and the verifier disagree."""
    chance = random.Random(seed)
    for _ in range(cards):
        card, rows = drawn(chance)
        for facts in rows:
            ours, verified = both(card, facts)
            if ours != verified:
                return card, facts, ours
    return None


# Each mutant has the changed function, its code, and the mutant's code.
MUTANTS = {
    "less or equal": (Characteristic, "bin_of", "value < candidate.below", "value <= candidate.below"),
    "missing as zero": (Characteristic, "bin_of", "return self.missing", "value = 0"),
    "largest instead of sum": (
        evaluator, "_reasons", "losses.get(key, 0) + scored.baseline - scored.points",
        "max(losses.get(key, 0), scored.baseline - scored.points)",
    ),
    "ties reversed": (
        evaluator, "_reasons", "in losses.items() if", "in reversed(losses.items()) if",
    ),
    "baseline ignored": (evaluator, "_reasons", "+ scored.baseline - scored.points", "- scored.points"),
}  # fmt: skip


def test_comparison_of_verifier_and_evaluator_finds_each_mutation_of_the_code(monkeypatch):
    assert first_disagreement() is None
    for mutant, (owner, name, code, changed) in MUTANTS.items():
        function = getattr(owner, name)
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(code) == 1
        globals_copy = dict(function.__globals__)
        exec(source.replace(code, changed), globals_copy)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, globals_copy[name])
            assert first_disagreement() is not None, mutant


def test_suggested_changes_are_the_smallest_sets_of_changes_with_a_better_outcome():
    chance, number, pairs_found = random.Random(5), 0, 0
    for _ in range(250):
        card_pair, rows = drawn(chance)
        card = Card.of(card_pair)
        for facts in rows[:6]:
            evaluation = evaluate(card, facts)
            reached = [each["name"] for each in card_pair.get("segments", ()) if each["from"] <= evaluation.total]
            assert evaluation.segment == (reached[0] if reached else None)
            own = changes(card, evaluation)
            names = [each["name"] for each in card_pair["characteristics"]]
            seen = []
            for each in own:
                steps = each["changes"]
                for step in steps:
                    at = names.index(step["characteristic"])
                    characteristic = card_pair["characteristics"][at]
                    to, now = characteristic["bins"][step["to_bin"]], characteristic["bins"][step["from_bin"]]
                    assert "missing" not in to
                    assert step["from_bin"] == evaluation.points[at].bin != step["to_bin"]
                    assert (step["points"], step["input"]) == (to["points"] - now["points"], characteristic["input"])
                where = tuple(names.index(step["characteristic"]) for step in steps)
                seen.append((where, sum(step["points"] for step in steps), each["outcome"]))
            assert seen == reference.changes(card_pair, evaluation), (card_pair, facts)
            number += len(seen)
            pairs_found += sum(len(where) == 2 for where, *_ in seen)
    assert number > 150
    assert pairs_found > 30
