"""adverse_impact: selection rates by group."""

import math

import pytest
from django.core.management import CommandError, call_command

from credit.scoring.fairness import adverse_impact
from tests.credit.scoring.cards import GOOD, POOR
from tests.credit.scoring.past import model_of, scored, version_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def version():
    return version_of(model_of())


def people(version, group, *, approved, declined):
    """Return the group of so many new applications by their ids."""
    facts = [GOOD] * approved + [POOR] * declined
    return {scored(version, one).application_id: group for one in facts}


def test_rates_and_the_ratio_with_its_interval(version):
    groups = people(version, "a", approved=8, declined=2) | people(version, "b", approved=3, declined=7)
    a, b = adverse_impact(version.model, groups)
    assert (a["scored"], a["approved"], a["rate"], a["ratio"]) == (10, 8, 0.8, 1.0)
    assert (b["rate"], b["ratio"]) == (0.3, pytest.approx(0.375))
    # Katz: the standard error of ln(RR) for 3 of 10 against 8 of 10.
    error = math.sqrt(1 / 3 - 1 / 10 + 1 / 8 - 1 / 10)
    assert math.log(b["ratio_high"] / b["ratio"]) == pytest.approx(1.959964 * error, rel=1e-6)
    assert math.log(b["ratio"] / b["ratio_low"]) == pytest.approx(1.959964 * error, rel=1e-6)


def test_a_group_that_nobody_approved_has_a_ratio_of_nothing(version):
    groups = people(version, "a", approved=1, declined=0) | people(version, "b", approved=0, declined=2)
    assert adverse_impact(version.model, groups)[1]["ratio"] == 0.0
    nobody = people(version, "c", approved=0, declined=1)
    assert adverse_impact(version.model, nobody)[0]["ratio"] is None


def test_shadows_and_people_without_a_group_do_not_count(version):
    groups = people(version, "a", approved=1, declined=0)
    scored(version, POOR)
    shadow = version_of(version.model, number=2, role="challenger")
    groups |= {scored(shadow, POOR, purpose="shadow").application_id: "a"}
    assert [(one["scored"], one["approved"]) for one in adverse_impact(version.model, groups)] == [(1, 1)]


class TestCommand:
    """Reading the file, and what is said."""

    def run(self, version, path, *options):
        return call_command("adverse_impact", str(version.model_id), "--groups", str(path), *options)

    def test_it_prints_each_group_and_that_this_is_no_finding_of_law(self, version, tmp_path, capsys):
        groups = people(version, "a", approved=2, declined=0) | people(version, "b", approved=1, declined=1)
        path = tmp_path / "groups.csv"
        path.write_text("application_id,group\n" + "".join(f"{one},{group}\n" for one, group in groups.items()))
        self.run(version, path)
        printed = capsys.readouterr().out
        assert "a: 2 of 2 approved (100.0%), ratio 1.00" in printed
        assert "b: 1 of 2 approved (50.0%), ratio 0.50" in printed
        assert "below four fifths" in printed
        assert "not a finding of law" in printed

    @pytest.mark.parametrize(("text", "said"), [
        ("id,group\n", "must name the columns"),
        ("", "must name the columns"),
        ("application_id,group\nx,a\n", "Line 2"),
        ("application_id,group\n01980000-0000-7000-8000-000000000001,\n", "Line 2"),
        (
            (
                "application_id,group\n01980000-0000-7000-8000-000000000001,a\n"
                "01980000-0000-7000-8000-000000000001,b\n"
            ),
            "Line 3 puts",
        ),
    ])  # fmt: skip
    def test_a_file_that_is_not_one_is_refused_by_its_line(self, version, tmp_path, text, said):
        path = tmp_path / "groups.csv"
        path.write_text(text)
        with pytest.raises(CommandError, match=said):
            self.run(version, path)

    def test_bytes_that_are_no_text_are_refused(self, version, tmp_path):
        path = tmp_path / "groups.csv"
        path.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(CommandError, match="Cannot read"):
            self.run(version, path)

    def test_an_unknown_model_is_refused(self, version, tmp_path):
        with pytest.raises(CommandError, match="no scoring model 4711"):
            call_command("adverse_impact", "4711", "--groups", "none")
