"""Test the comparison of two model versions on the same applications."""

import copy

import pytest

from credit.scoring.monitoring import Window, compare
from tests.credit.erasing import erase_facts
from tests.credit.scoring.cards import DEFINITION, GOOD, POOR
from tests.credit.scoring.past import NOW, model_of, scored, version_of

WINDOW = Window.until(NOW)


@pytest.fixture
def version(db):
    return version_of(model_of())


def next_version(version, **changes):
    """Return the next version, with changed fields of its definition."""
    return version_of(version.model, number=2, definition={**copy.deepcopy(DEFINITION), **changes}, role="challenger")


def test_identical_versions_have_no_changed_outcomes(version):
    for facts in (GOOD, POOR):
        scored(version, facts)
    comparison = compare(version, next_version(version), window=WINDOW, limit=10)
    assert comparison == {
        "pairs": 2,
        "table": [
            {"outcome": "approve", "with_outcome": "approve", "count": 1},
            {"outcome": "decline", "with_outcome": "decline", "count": 1},
        ],
        "flips": [],
        "skipped": 0,
    }


def test_version_comparison_lists_changed_outcomes(version):
    scored(version, GOOD)
    score = scored(version, POOR)
    milder = next_version(version, base_points=600)
    comparison = compare(version, milder, window=WINDOW, limit=10)
    assert comparison["flips"] == [
        {
            "application_id": str(score.application_id), "total": 550, "outcome": "decline", "with_total": 650,
            "with_outcome": "approve",
        }
    ]  # fmt: skip


def test_version_comparison_skips_and_counts_scores_without_facts(version):
    erased = scored(version, GOOD)
    erase_facts(erased.user_id)
    scored(version, GOOD)
    asks_more = next_version(
        version, inputs=[*DEFINITION["inputs"], {"name": "linked", "from": "bank.linked", "type": "boolean"}]
    )
    assert compare(version, other_again(version), window=WINDOW, limit=10)["skipped"] == 1
    assert compare(version, asks_more, window=WINDOW, limit=10) == {"pairs": 0, "table": [], "flips": [], "skipped": 2}


def other_again(version):
    return version_of(version.model, number=3, role="challenger")


def test_version_comparison_uses_the_newest_scores_up_to_the_limit(version):
    for days_ago, facts in ((9, GOOD), (2, POOR), (1, POOR)):
        scored(version, facts, days_ago=days_ago)
    comparison = compare(version, next_version(version), window=WINDOW, limit=2)
    assert comparison["table"] == [{"outcome": "decline", "with_outcome": "decline", "count": 2}]
