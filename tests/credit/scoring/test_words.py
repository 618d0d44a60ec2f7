"""Test the descriptions of scorecard definitions in words."""

from decimal import Decimal

import pytest

from credit.console import score_words as words
from credit.core.card import Card
from credit.scoring.changes import changes
from credit.scoring.evaluator import evaluate
from tests.credit.scoring.cards import POOR, definition


@pytest.mark.parametrize(("bins", "named"), [
    (
        [{"missing": True}, {"below": 150_000}, {"below": "0.25"}, {}],
        ["missing", "below 150000", "from 150000 to below 0.25", "from 0.25"],
    ),
    ([{"below": -5}, {"missing": True}, {}], ["below -5", "missing", "from -5"]),
    (
        [{"in": ["own"]}, {"in": ["rent", "family", "hotel"]}, {"missing": True}, {}],
        ["own", "rent, family or hotel", "missing", "everything else"],
    ),
    ([{"in": [True]}, {"missing": True}, {}], ["yes", "missing", "everything else"]),
    ([{"missing": True}, {}], ["missing", "everything else"]),
])  # fmt: skip
def test_scorecard_bins_are_described_in_words(bins, named):
    assert words.bins_in_words(bins) == named


@pytest.mark.parametrize(("given", "said"), [
    ({"from": "account.age_days"}, "below 30 days"), ({"months_since": "a.since"}, "below 30 months"),
    ({"sum": ["a.x_months", "a.y_months"]}, "below 30 months"), ({"first_of": ["a.x_percent"]}, "below 30%"),
    ({"sum": ["a.x_months", "a.y_days"]}, "below 30"), ({"ratio": ["a.x_days", "a.y_days"]}, "below 3000%"),
    ({"from": "application_data.months_employed"}, "below 30 months"), ({"from": "bank.as_of"}, "below 30"),
    ({"from": "report.delinquencies_24_months"}, "below 30 times"),
    ({"from": "application_data.inquiries_6_months"}, "below 30"),
    ({"from": "bank.months_covered"}, "below 30 months"),
    ({"from": "application_data.days_text", "type": "text"}, "below 30"),
])  # fmt: skip
def test_words_for_scorecard_bins_contain_the_unit_of_their_input(given, said):
    writers = words.writers_of({"inputs": [{"name": "x", **given}]})
    assert words.bins_in_words([{"below": 30}, {}], writers["x"])[0] == said


@pytest.mark.parametrize(("value", "said"), [
    ("0.45", "45%"), (Decimal("0.125"), "12.5%"), (Decimal(61) / 124, "about 49.19%"), (3, "300%"),
])  # fmt: skip
def test_ratios_of_a_scorecard_are_described_as_percentages(value, said):
    writers = words.writers_of({"inputs": [{"name": "x", "ratio": ["a.debt", "a.income"]}]})
    assert writers["x"](value) == said


def test_scorecard_value_of_1_is_described_with_a_singular_unit():
    assert words.writers_of({"inputs": [{"name": "x", "from": "account.age_days"}]})["x"](1) == "1 day"


@pytest.mark.parametrize(("given", "said"), [
    ({"from": "report.delinquencies_24_months", "type": "number"}, "report delinquencies in 24 months, a number"),
    ({"from": "identity.verified", "type": "boolean"}, "identity verified, yes or no"),
    ({"from": "account.age_days", "type": "number"}, "account age days, a number"),
    (
        {"from": "application_data.housing", "type": "text", "mutable": False},
        "housing as claimed, a text; the applicant cannot change it",
    ),
    (
        {"from": "bank.lowest_balance_cents", "type": "number"},
        "bank lowest balance, an amount in the application's currency",
    ),
    (
        {"first_of": ["confirmed.job.since", "application_data.job.since"], "type": "text"},
        "the first present of job since as confirmed, job since as claimed, a text",
    ),
    ({"ratio": ["a.debt", "a.income"]}, "ratio of a debt to a income"),
    ({"sum": ["a.x", "a.y", "a.z"]}, "sum of a x, a y and a z"),
    ({"months_since": "a.since"}, "full months from a since to the day of the score"),
    (
        {"months_since": "a.birth_date", "allow_age": True},
        "full months from a birth date to the day of the score; reveals a person's age",
    ),
])  # fmt: skip
def test_scorecard_inputs_are_described_in_words(given, said):
    assert words.input_in_words({"name": "x", **given}) == said


@pytest.mark.parametrize(("test", "said"), [
    ({"equals": False}, "is no"), ({"in": ["a", "b"]}, "is a or b"), ({"below": "0.5"}, "is below 0.5"),
    ({"from": 3}, "is 3 or more"),
])  # fmt: skip
def test_scorecard_knockouts_are_described_in_words(test, said):
    fields = {"input": "it", "outcome": "decline", "reason": {"code": "other", "text": "Our own"}, **test}
    assert words.knockout_in_words(fields) == f"When it {said}: reject, for any total. Our own."


def test_scorecard_outcomes_and_segments_are_described_with_totals():
    card = Card.of(definition(segments=[{"name": "prime", "from": 700}, {"name": "near", "from": 640}]))
    assert words.bands_in_words(card.outcomes) == [
        ("approve", "from 640"), ("refer", "from 560 to 639"), ("decline", "below 560"),
    ]  # fmt: skip
    assert words.bands_in_words(card.segments) == [("prime", "from 700"), ("near", "from 640 to 699")]
    assert words.bands_in_words([("refer", None)]) == [("refer", "every total")]


def test_attainable_scorecard_totals_are_within_the_declared_range():
    assert Card.of(definition()).attainable == (520, 740)
    assert Card.of(definition(range=[530, 700])).attainable == (530, 700)
    without = definition()
    del without["range"]
    assert Card.of(without).attainable == (520, 740)


@pytest.mark.parametrize(("value", "said"), [
    (True, "yes"), (False, "no"), ("own", "own"), (Decimal("0.25"), "0.25"), (Decimal(320_000), "320000"),
    (Decimal("1E+3"), "1000"), (Decimal(1) / 3, "about 0.333333"), (Decimal("1e40"), "1" + 40 * "0"),
])  # fmt: skip
def test_fact_values_are_described_in_words(value, said):
    assert words.value_in_words(value) == said


def test_suggested_changes_are_described_in_sentences():
    original = definition(base_points=505)
    card = Card.of(original)
    result = changes(card, evaluate(card, POOR))
    assert result, "the card offers this person a way"
    sentences = words.changes_in_words(original, result)
    assert sentences[:2] == [
        "debt to income “from 20% to below 40%” instead of “from 40%” (+35 points): refer.",
        "income “from 1,500 to below 3,000” instead of “below 1,500” (+50 points): refer.",
    ]


class TestDifferences:
    def differences(self, **changed):
        return words.differences(definition(), definition(**changed))

    def test_identical_scorecard_versions_have_no_differences(self):
        assert self.differences() == []

    def test_scorecard_version_difference_marks_only_changed_bins(self):
        after = definition()
        after["characteristics"][0]["bins"][1]["points"] = 25
        (difference,) = words.differences(definition(), after)
        assert (difference.member, difference.kind) == ("Characteristic “income”", words.CHANGED)
        assert [line.text for line in difference.before if line.differs] == ["below 1,500: 20 points"]
        assert [line.text for line in difference.after if line.differs] == ["below 1,500: 25 points"]
        assert len(difference.before) == len(difference.after) == 7

    def test_difference_of_an_added_or_removed_characteristic_shows_only_one_version(self):
        before = definition()
        removed = before["characteristics"].pop()
        (added,) = words.differences(before, definition())
        assert (added.member, added.kind, added.before) == ("Characteristic “housing”", words.ADDED, ())
        (gone,) = words.differences(definition(), before)
        assert (gone.kind, gone.after) == (words.REMOVED, ())
        assert removed["name"] == "housing"

    def test_scorecard_version_differences_list_changed_knockouts_outcomes_segments_base_and_range(self):
        differences = self.differences(
            knockouts=[], base_points=1, range=[0, 1], segments=[],
            outcomes=[{"outcome": "approve", "from": 650}, {"outcome": "decline"}],
        )  # fmt: skip
        assert [(record.member, record.kind) for record in differences] == [
            ("Base points", "changed"), ("Range of the total", "changed"), ("Knockouts, in their order", "removed"),
            ("Outcomes", "changed"), ("Segments", "removed"),
        ]  # fmt: skip
        assert [line.text for line in differences[3].after] == ["approve: from 650", "reject: below 650"]

    def test_scorecard_version_differences_list_a_changed_input(self):
        after = definition()
        after["inputs"][2]["mutable"] = True
        (difference,) = words.differences(definition(), after)
        assert difference.member == "Input “housing”"

    def test_scorecard_version_differences_include_characteristic_order_and_ignore_input_order(self):
        after = definition()
        after["inputs"].reverse()
        assert words.differences(definition(), after) == []
        after["characteristics"][:2] = after["characteristics"][1::-1]
        (difference,) = words.differences(definition(), after)
        assert difference.member.startswith("Order of the characteristics")
        assert [(line.text, line.differs) for line in difference.after] == [
            ("debt to income", True), ("income", True), ("housing", False),
        ]  # fmt: skip

    def test_scorecard_version_differences_include_the_order_of_knockouts_and_bins(self):
        two = [
            {"input": "identity_verified", "equals": False, "outcome": "refer", "reason": "identity_unverifiable"},
            {"input": "income", "below": 5, "outcome": "decline", "reason": "income_insufficient"},
        ]
        (difference,) = words.differences(definition(knockouts=two), definition(knockouts=two[::-1]))
        assert difference.kind == words.CHANGED
        assert not any(line.differs for line in difference.before)
