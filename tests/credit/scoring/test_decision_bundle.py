"""Test the decision bundle of an application, and the download of its verifier."""

import json
from base64 import b64decode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.utils import timezone

from config.core.casework import DataAccess
from credit.anchoring.verify_decision import FAIL, OK, SKIPPED, verify
from credit.models import DecisionAnchor, Score
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.credit.applicants import LEAST, PERSON
from tests.credit.erasing import erase_applicants, erase_facts
from tests.credit.scoring.submitting import SAYS_GOOD, SAYS_POOR, draft_for, scored_offer, submit
from tests.credit.scoring.submitting import verify as verify_identity
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory

MEMBERS = {
    "record", "signature", "proof_file", "opening", "definition", "facts", "nonce", "applicants", "applicants_nonce",
    "certificate", "facts_opening", "openings",
}  # fmt: skip


def read(api, application):
    return api.read(f"/applications/{application.pk}/decision-bundle")


@pytest.fixture
def decided(db, api, user, settings):
    """Return an application that its score declined."""
    settings.DECISIONING = "automatic"
    verify_identity(user)
    offer, _ = scored_offer()
    application = draft_for(offer, user, SAYS_POOR)
    assert submit(api, application).status_code == 200
    assert decide_scored(now=timezone.now())["rejected"] == 1
    return application


class TestBundle:
    def test_decision_bundle_contains_the_hashed_texts_and_is_signed_by_a_published_key(self, api, anonymous, decided):
        answer = read(api, decided)
        assert answer.status_code == 200
        assert answer.headers["Content-Disposition"] == f'attachment; filename="decision-{decided.pk}.json"'
        assert answer.headers["Cache-Control"] == "private, no-store"
        body, score = answer.json(), Score.objects.get()
        assert set(body) == MEMBERS
        document = json.loads(body["record"])
        assert body["record"] == DecisionAnchor.objects.get().record
        assert sha256(body["definition"].encode()).hexdigest() == document["definition_sha256"]
        hashed = b64decode(body["nonce"]) + body["facts"].encode()
        assert sha256(hashed).hexdigest() == document["facts_sha256"] == score.facts_sha256
        assert body["proof_file"] is None is body["opening"]
        published = anonymous.read("/.well-known/record-keys.json")
        (key,) = [item for item in published.json()["keys"] if item["id"] == body["signature"]["key"]]
        public = Ed25519PublicKey.from_public_bytes(b64decode(key["public_key"]))
        message = f"credit-platform/record/v1\napplication_decision\n{body['record']}"
        public.verify(b64decode(body["signature"]["value"]), message.encode())
        assert key["valid_from"] < document["decided_at"]
        steps = verify(answer.content, platform_keys=[published.content.decode()])
        unproven = ["proof", "inclusion", "commitment", "signature"]
        assert [step.name for step in steps if step.state != OK] == unproven
        assert FAIL not in {step.state for step in steps}

    def test_decision_bundle_after_an_erasure_has_hashes_without_facts(self, api, user, decided):
        before = read(api, decided).json()
        erase_facts(user.pk)
        assert read(api, decided).json() == {**before, "facts": None, "nonce": None, "facts_opening": None}
        states_by_name = {step.name: step.state for step in verify(read(api, decided).content)}
        assert (states_by_name["definition"], states_by_name["facts"]) == (OK, SKIPPED)

    def test_decision_bundle_without_a_score_contains_only_the_record(self, api, user, db):
        application = ApplicationFactory(consumer=user, status="under_review")
        body = {"status": "approved", "updated_by": "me"}
        assert api.replace(f"/applications/{application.pk}/status", body).status_code == 200
        shown = read(api, application).json()
        assert {name for name, text in shown.items() if text is not None} == {"record", "signature", "openings"}
        assert FAIL not in {step.state for step in verify(read(api, application).content)}

    def test_decision_bundle_contains_applicants_that_are_not_erased(self, api, user, db):
        application = ApplicationFactory(consumer=user, status="submitted")
        place = f"/applications/{application.pk}"
        assert api.replace(place, {"updated_by": "me", "applicants": [PERSON]}).status_code == 200
        for to in ("under_review", "approved"):
            assert api.replace(f"{place}/status", {"status": to, "updated_by": "me"}).status_code == 200
        shown = read(api, application)
        assert json.loads(shown.json()["applicants"]) == [PERSON]
        (step,) = [item for item in verify(shown.content) if item.name == "applicants"]
        assert (step.state, step.detail.partition(",")[0]) == (OK, "1")
        erase_applicants(user.pk)
        erased = read(api, application)
        assert erased.json() == {**shown.json(), "applicants": None, "applicants_nonce": None}
        (step,) = [item for item in verify(erased.content) if item.name == "applicants"]
        assert (step.state, "erased" in step.detail) == (SKIPPED, True)

    def test_decision_bundle_omits_applicants_changed_after_the_decision(self, api, user, db):
        application = ApplicationFactory(consumer=user, status="submitted")
        place = f"/applications/{application.pk}"
        for person, to in ((PERSON, "under_review"), (None, "approved"), (None, "under_review"), (LEAST, None)):
            if person:
                assert api.replace(place, {"updated_by": "me", "applicants": [person]}).status_code == 200
            if to:
                assert api.replace(f"{place}/status", {"status": to, "updated_by": "me"}).status_code == 200
        assert read(api, application).json()["applicants"] is None
        assert FAIL not in {step.state for step in verify(read(api, application).content)}

    def test_undecided_application_has_no_decision_bundle(self, api, user, db):
        offer, _ = scored_offer()
        application = draft_for(offer, user, SAYS_GOOD)
        submit(api, application)
        assert_error(read(api, application), 404, "E4001")

    def test_decision_bundle_describes_the_newest_decision(self, api, decided, settings):
        for to in ("under_review", "approved"):
            body = {"status": to, "updated_by": "Dr. R", "reason": "Known to us"}
            assert api.replace(f"/applications/{decided.pk}/status", body).status_code == 200
            assert json.loads(read(api, decided).json()["record"])["position"] == decided.history.count()
        assert FAIL not in {step.state for step in verify(read(api, decided).content)}


def test_only_a_reviewers_access_to_a_decision_bundle_is_logged(api, decided):
    reviewer = make_reviewer()
    answer = read(client_of(reviewer), decided)
    assert answer.status_code == 200
    read(api, decided)
    noted = DataAccess.objects.get()
    assert (noted.viewer, noted.subject, noted.record_id) == (reviewer, decided.consumer, str(decided.pk))
    assert noted.details == {"decision_bundle": sha256(answer.content).hexdigest()}


def test_verifier_script_can_be_downloaded_anonymously(db, anonymous):
    answer = anonymous.read("/scoring/verifier")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/x-python")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="verify_decision.py"'
    compile(answer.content, "verify_decision.py", "exec")
