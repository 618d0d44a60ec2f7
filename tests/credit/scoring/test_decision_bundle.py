"""GET /v1/applications/{id}/decision-bundle and GET /v1/scoring/verifier: the evidence, and what checks it."""

import json
import subprocess
import sys
from base64 import b64decode
from hashlib import sha256
from io import StringIO

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from config.backoffice.models import DataAccess
from credit.deciding import decide_scored
from credit.models import DecisionAnchor, Score
from credit.scoring.scores import erase_facts
from credit.scoring.verify_decision import FAIL, OK, SKIPPED, verify
from ledger.keys import signer
from tests.api import ApiClient, assert_error, client_of
from tests.credit.scoring.submitting import (
    SAYS_GOOD,
    SAYS_POOR,
    draft_for,
    scored_offer,
    submit,
)
from tests.credit.scoring.submitting import (
    verify as verify_identity,
)
from tests.credit.test_application_proof import ledger  # noqa: F401  a fixture
from tests.factories import ApplicationFactory, UserFactory
from tests.identity.support import issue

MEMBERS = {"record", "proof_file", "definition", "facts", "nonce"}


def read(api, application):
    return api.read(f"/applications/{application.pk}/decision-bundle")


@pytest.fixture
def decided(db, api, user, settings):
    """An application that its score has declined."""
    settings.DECISIONING = "automatic"
    verify_identity(user)
    offer, _ = scored_offer()
    application = draft_for(offer, user, SAYS_POOR)
    assert submit(api, application).status_code == 200
    assert decide_scored(now=timezone.now())["rejected"] == 1
    return application


class TestBundle:
    def test_it_holds_the_texts_that_were_hashed(self, api, decided):
        answer = read(api, decided)
        assert answer.status_code == 200
        assert answer.headers["Content-Disposition"] == f'attachment; filename="decision-{decided.pk}.json"'
        assert answer.headers["Cache-Control"] == "private, no-store"
        body, score = answer.json(), Score.objects.get()
        assert set(body) == MEMBERS
        told = json.loads(body["record"])
        assert body["record"] == DecisionAnchor.objects.get().record
        assert sha256(body["definition"].encode()).hexdigest() == told["definition_sha256"]
        hashed = b64decode(body["nonce"]) + body["facts"].encode()
        assert sha256(hashed).hexdigest() == told["facts_sha256"] == score.facts_sha256
        assert body["proof_file"] is None

    def test_the_verifier_computes_it_again(self, api, decided):
        found = {step.name: step.state for step in verify(read(api, decided).content)}
        assert [name for name, state in found.items() if state != OK] == ["proof", "inclusion", "signature"]
        assert FAIL not in found.values()

    def test_after_an_erasure_the_hashes_stay(self, api, user, decided):
        before = read(api, decided).json()
        erase_facts(user.pk)
        assert read(api, decided).json() == {**before, "facts": None, "nonce": None}
        found = {step.name: step.state for step in verify(read(api, decided).content)}
        assert (found["definition"], found["facts"]) == (OK, SKIPPED)

    def test_without_a_score_it_is_the_record_alone(self, api, user, db):
        application = ApplicationFactory(consumer=user, status="under_review")
        body = {"status": "approved", "updated_by": "me"}
        assert api.replace(f"/applications/{application.pk}/status", body).status_code == 200
        shown = read(api, application).json()
        assert {name for name, text in shown.items() if text is not None} == {"record"}
        assert FAIL not in {step.state for step in verify(read(api, application).content)}

    def test_before_a_decision_there_is_none(self, api, user, db):
        offer, _ = scored_offer()
        application = draft_for(offer, user, SAYS_GOOD)
        submit(api, application)
        assert_error(read(api, application), 404, "E4001")

    def test_of_several_decisions_it_is_the_newest(self, api, decided, settings):
        for to in ("under_review", "approved"):
            body = {"status": to, "updated_by": "Dr. R", "reason": "Known to us"}
            assert api.replace(f"/applications/{decided.pk}/status", body).status_code == 200
            assert json.loads(read(api, decided).json()["record"])["position"] == decided.history.count()
        assert FAIL not in {step.state for step in verify(read(api, decided).content)}


class TestWhoReadsIt:
    def test_reviewers_do_and_are_noted(self, decided):
        reviewer = UserFactory()
        reviewer.groups.add(Group.objects.get(name="Reviewer"))
        answer = read(client_of(reviewer), decided)
        assert answer.status_code == 200
        noted = DataAccess.objects.get(viewer=reviewer)
        assert (noted.subject, noted.record_id) == (decided.consumer, str(decided.pk))
        assert noted.details == {"decision_bundle": sha256(answer.content).hexdigest()}

    def test_ones_own_is_not_noted(self, api, decided):
        read(api, decided)
        assert not DataAccess.objects.exists()

    def test_nobody_else(self, anonymous, stranger_api, decided):
        assert_error(read(anonymous, decided), 401, "E2001")
        assert_error(read(stranger_api, decided), 404, "E4002")

    def test_no_scope_opens_it_because_facts_of_the_bank_are_in_it(self, user, decided):
        scoped = ApiClient(api_key=issue(user, scopes=["applications:read", "bankdata:read"]).key)
        assert_error(read(scoped, decided), 403, "E2005")

    @pytest.mark.parametrize("name", ["x", "0198b000-0000-4000-8000-000000000000"])
    def test_no_such_application(self, api, db, name):
        assert_error(api.read(f"/applications/{name}/decision-bundle"), 404, "E4002")


@pytest.mark.usefixtures("committed")
def test_from_the_submission_to_a_check_offline_by_a_file_alone(api, user, settings, ledger, tmp_path):  # noqa: F811
    settings.CHAIN_URL, settings.DECISIONING = ledger, "automatic"
    with override_settings(ROOT_URLCONF="config.urls"):
        verify_identity(user)
        application = draft_for(scored_offer()[0], user, SAYS_POOR)
        assert submit(api, application).status_code == 200
        call_command("decide_applications", once=True, stdout=StringIO())
    call_command("anchor_decisions", once=True, stdout=StringIO())
    with override_settings(ROOT_URLCONF="config.urls"):
        (tmp_path / "bundle.json").write_bytes(read(api, application).content)
        (tmp_path / "verify.py").write_bytes(ApiClient().read("/scoring/verifier").content)
    command = [sys.executable, "-I", "-S", "verify.py", "bundle.json", "--ledger-key", signer().verifier.vkey]
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1] == "The decision holds."


def test_the_verifier_is_for_everybody(db, anonymous):
    answer = anonymous.read("/scoring/verifier")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/x-python")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="verify_decision.py"'
    compile(answer.content, "verify_decision.py", "exec")
    assert_error(anonymous.send("/scoring/verifier", {}), 405, "E4050")
