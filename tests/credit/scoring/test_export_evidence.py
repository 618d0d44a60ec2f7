"""Test the file format of `export_evidence`. `tests/system` runs reasonsmith on the files."""

import ast
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from credit.models import Score
from tests.api import client_of
from tests.credit.scoring.submitting import SAYS_POOR, draft_for, scored_offer, submit, verify
from tests.credit.support import make_reviewer, move

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(user, api):
    """Return a version with a score that declined, and a reviewer's rejection."""
    verify(user)
    offer, version = scored_offer()
    application = draft_for(offer, user, SAYS_POOR)
    assert submit(api, application).status_code == 200
    reviewer = client_of(make_reviewer())
    move(reviewer, application, "under_review")
    assert move(reviewer, application, "rejected", metadata={"reasons": ["income_insufficient"]}).status_code == 200
    return version


def export(version, folder):
    out = StringIO()
    call_command("export_evidence", f"{version.model_id}@{version.number}", "--to", str(folder), "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def rows(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def parts_of(module):
    """Return RULES, VARIABLES, and CONSTRAINTS without importing reasonsmith."""
    assigned = (node for node in ast.parse(module).body if isinstance(node, ast.Assign))
    return {node.targets[0].id: ast.literal_eval(node.value) for node in assigned}


def test_evidence_export_contains_decision_signals_without_personal_data(version, user, tmp_path):
    folder = tmp_path / "evidence"
    counts = export(version, folder)
    (decision,) = rows(folder / "decisions.jsonl")
    assert counts == {"folder": str(folder), "decisions": 1, "notices": len(rows(folder / "notices.jsonl"))}
    assert decision["decision"] == "rejected"
    assert decision["artifact_logs_reason_explanation"]
    assert decision["artifact_logs_solely_automated"] is False
    assert decision["provenance_model_version"].startswith(f"{version.model_id}@{version.number} sha256:")
    written = "".join(file.read_text() for file in folder.iterdir())
    for private in (user.username, "140000", "application_data"):
        assert private not in written
    assert folder.stat().st_mode & 0o077 == 0


def test_exported_scorecard_rules_compute_the_total_and_the_first_reason_of_a_score(version, tmp_path):
    export(version, tmp_path / "evidence")
    parts = parts_of((tmp_path / "evidence/rules.py").read_text())
    score = Score.objects.get()
    values = {f"bin_{at}": points[1] for at, points in enumerate(score.points)}
    values["applicant_prohibited_basis"] = 0
    values |= {name: False for name, kind in parts["VARIABLES"].items() if kind == "bool"}
    for constraint in parts["CONSTRAINTS"]:
        assert eval(constraint, {}, values)
    for rule in parts["RULES"]:
        exec(rule, {}, values)
    assert (values["total"], values["outcome"]) == (score.total, score.outcome)
    assert values["principal_reason"]
    assert set(values) == set(parts["VARIABLES"])


@pytest.mark.parametrize("name", ["1", "x@1", "999@1", "1@0"])
def test_evidence_export_of_an_unknown_version_creates_no_folder(tmp_path, name):
    with pytest.raises(CommandError, match="not found"):
        call_command("export_evidence", name, "--to", str(tmp_path / "evidence"))
    assert not (tmp_path / "evidence").exists()


def test_evidence_export_to_an_existing_folder_is_rejected(version, tmp_path):
    with pytest.raises(CommandError, match="can't be created"):
        export(version, tmp_path)
