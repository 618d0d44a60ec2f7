"""Test the comparison of two model versions on the same applications."""

import pytest

from credit.scoring.monitoring import Window, compare
from tests.credit.erasing import erase_facts
from tests.credit.scoring.cards import DEFINITION, GOOD, POOR, definition
from tests.credit.scoring.past import NOW, model_of, scored, version_of

WINDOW = Window.until(NOW)


@pytest.fixture
def version(db):
    return version_of(model_of())


def compared(version, *, limit=10, **changes):
    """Compare a version with a next version that has changed fields of its definition."""
    number = version.model.versions.count() + 1
    other = version_of(version.model, number=number, definition=definition(**changes), role="challenger")
    return compare(version, other, window=WINDOW, limit=limit)


def test_model_version_comparison_lists_only_changed_outcomes(version):
    scored(version, GOOD)
    score = scored(version, POOR)
    assert compared(version) == {
        "pairs": 2,
        "table": [
            {"outcome": "approve", "with_outcome": "approve", "count": 1},
            {"outcome": "decline", "with_outcome": "decline", "count": 1},
        ],
        "flips": [],
        "skipped": 0,
    }
    assert compared(version, base_points=600)["flips"] == [
        {
            "application_id": str(score.application_id), "total": 550, "outcome": "decline", "with_total": 650,
            "with_outcome": "approve",
        }
    ]  # fmt: skip


def test_model_version_comparison_skips_and_counts_scores_without_facts(version):
    erased = scored(version, GOOD)
    erase_facts(erased.user_id)
    scored(version, GOOD)
    inputs = [*DEFINITION["inputs"], {"name": "linked", "from": "bank.linked", "type": "boolean"}]
    assert compared(version)["skipped"] == 1
    assert compared(version, inputs=inputs) == {"pairs": 0, "table": [], "flips": [], "skipped": 2}


def test_model_version_comparison_uses_the_newest_scores_up_to_the_limit(version):
    for days_ago, facts in ((9, GOOD), (2, POOR), (1, POOR)):
        scored(version, facts, days_ago=days_ago)
    table = [{"outcome": "decline", "with_outcome": "decline", "count": 2}]
    assert compared(version, limit=2)["table"] == table
