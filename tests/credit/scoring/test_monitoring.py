"""Test the stability, missing rates, outcomes, and overrides of a version's scores."""

import json
import math
import random
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.models import ApplicationHistory, Score
from credit.scoring.evaluator import evaluate
from credit.scoring.monitoring import EMPTY_SHARE, Window, _counts, equal_frequency_edges, monitoring, psi
from credit.scoring.scores import store_score
from tests.credit.erasing import erase_facts
from tests.credit.scoring.cards import GOOD, POOR
from tests.credit.scoring.past import NOW, model_of, scored, version_of
from tests.factories import UserFactory

WINDOW = Window.until(NOW)


@pytest.fixture
def version(db):
    return version_of(model_of())


def monitor(version, **windows):
    return monitoring(version, **{"window": WINDOW, "against": WINDOW.before(), **windows})


def decide(score, status, *, by=None, position=1, at=NOW):
    """Create the history row of a decision about the scored application."""
    ApplicationHistory.objects.create(
        application=score.application, position=position, status=status, previous_status="under_review",
        changed_by="somebody", changed_at=at, principal=by, credential="admin",
    )  # fmt: skip


class TestIndex:
    """Test the stability index (PSI)."""

    def test_stability_index_treats_an_empty_bin_as_a_share_of_one_ten_thousandth(self):
        by_hand = (EMPTY_SHARE - 0.5) * math.log(EMPTY_SHARE / 0.5) + (1 - 0.5) * math.log(1 / 0.5)
        assert psi([5, 5], [0, 7]) == pytest.approx(by_hand, abs=1e-15)

    def test_stability_index_without_scores_is_none(self):
        assert psi([0, 0], [1, 2]) is None
        assert psi([1, 2], [0, 0]) is None

    @given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=20))
    def test_stability_index_is_non_negative_and_symmetric(self, pairs):
        before, now = ([pair[side] for pair in pairs] for side in (0, 1))
        index = psi(before, now)
        if index is not None:
            assert index >= -1e-12
            assert index == pytest.approx(psi(now, before), abs=1e-12)


class TestBinsOfTotals:
    """Test bins of equal frequency."""

    def test_equal_frequency_bins_of_100_totals_contain_10_totals_each(self):
        totals = random.Random(7).sample(range(1_000), 100)
        assert _counts(totals, equal_frequency_edges(totals)) == [10] * 10

    def test_identical_score_totals_create_empty_bins_below_and_above(self):
        edges = equal_frequency_edges([500] * 40)
        assert _counts([500] * 40, edges) == [0, 40, 0]
        assert psi(_counts([500] * 40, edges), _counts([600] * 40, edges)) > 0.25

    def test_equal_frequency_bins_do_not_split_equal_totals(self):
        totals = [500] * 95 + [600] * 5
        assert _counts(totals, equal_frequency_edges(totals)) == [100]

    @given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
    def test_equal_frequency_bins_contain_every_total_and_are_not_empty(self, totals):
        counts = _counts(totals, equal_frequency_edges(totals))
        assert sum(counts) == len(totals)
        assert all(counts) or len(set(totals)) == 1


class TestMonitoring:
    """Test scores of a window, compared with another window."""

    @pytest.mark.parametrize(("facts", "low", "high"), [(GOOD, 0.0, 0.0), (POOR, 0.25, 100)])
    def test_stability_index_is_high_only_for_enough_scores_with_different_facts(
        self, version, monkeypatch, facts, low, high
    ):
        monkeypatch.setattr("credit.scoring.monitoring.SCORES_MIN", 10)
        for number in range(1, 11):
            scored(version, GOOD, days_ago=35)
            if number == 10:  # The window has nine scores, which are too few.
                figures = monitor(version)
                assert figures["psi"] is None
                assert (figures["window"]["too_few"], figures["against"]["too_few"]) == (True, False)
                assert figures["bins"]
                assert monitor(version, window=WINDOW.before(), against=WINDOW)["psi"] is None
            scored(version, facts, days_ago=5)
        figures = monitor(version)
        assert low <= figures["psi"] <= high
        for side in ("window", "against"):
            assert (figures[side]["scores"], figures[side]["too_few"]) == (10, False)

    def test_monitoring_contains_rates_of_missing_facts_and_outcomes_of_a_version(self, version):
        scored(version, GOOD)
        scored(version, GOOD)
        scored(version, {**GOOD, "application_data.housing": None})
        scored(version, POOR)
        scored(version_of(version.model, number=2, role="challenger"), POOR, purpose="shadow")
        figures = monitor(version)
        assert figures["outcomes"] == {"approve": 0.5, "refer": 0.25, "decline": 0.25}
        assert {fact["input"]: fact["rate"] for fact in figures["missing"]}["housing"] == 0.25
        assert {fact["rate_before"] for fact in figures["missing"]} == {None}

    def test_monitoring_counts_an_application_only_once_if_scored_again(self, version):
        first = scored(version, POOR)
        facts = {name: GOOD.get(name) for name in version.card.facts} | {"scored_on": "2026-01-31"}
        store_score(
            version, facts, evaluate(version.card, facts), purpose=Score.DECISION, user_id=first.user_id,
            application_id=first.application_id, now=NOW - timedelta(hours=1), number=2,
        )  # fmt: skip
        shown = monitor(version)
        assert shown["window"]["of"] == 1
        assert shown["outcomes"] == {"approve": 1.0, "refer": 0.0, "decline": 0.0}

    def test_monitoring_counts_the_last_decision_against_the_score_as_override(self, version):
        person = UserFactory()
        agreed, overruled, machine, undecided = (scored(version, GOOD) for _ in range(4))
        decide(agreed, "approved", by=person)
        decide(overruled, "approved", by=person)
        decide(overruled, "under_review", by=person, position=2)
        decide(overruled, "rejected", by=person, position=3)
        decide(machine, "rejected")  # The model, not a person, made this decision.
        referred = scored(version, {**GOOD, "identity.verified": False})
        decide(referred, "rejected", by=person)  # This score has no proposal.
        early = scored(version, GOOD)
        decide(early, "rejected", by=person, at=early.created_at - timedelta(hours=1))
        assert undecided.outcome == "approve"
        assert monitor(version)["overrides"] == {"decisions": 2, "overrides": 1, "rate": 0.5}

    def test_erasing_facts_does_not_change_monitoring(self, version):
        score = scored(version, GOOD)
        before = monitor(version)
        assert erase_facts(score.user_id) == 1
        assert monitor(version) == before

    def test_monitoring_window_includes_its_start_and_excludes_its_end(self, version):
        scored(version, GOOD, days_ago=30)  # This score is at the start of the window.
        scored(version, GOOD, days_ago=0)  # This score is at the end of the window.
        assert monitor(version)["window"]["of"] == 1

    def test_monitoring_executes_the_same_sql_statements_for_more_scores(self, version, django_assert_num_queries):
        for _ in range(3):
            scored(version, GOOD)
        with django_assert_num_queries(5):
            monitor(version)


def test_monitoring_compares_with_a_previous_window_of_the_same_length():
    window = Window(NOW - timedelta(days=10), NOW)
    assert window.before() == Window(NOW - timedelta(days=20), NOW - timedelta(days=10))


@pytest.mark.parametrize("case", json.loads((Path(__file__).parent / "german" / "psi.json").read_text()))
def test_stability_index_equals_the_optbinning_result(case):
    assert psi(case["expected"], case["actual"]) == pytest.approx(case["psi"], abs=1e-12)
