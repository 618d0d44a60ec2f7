"""Test `share`, the data that the applicant shares with the lender in addition to the application."""

import json

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.anchoring.verify_decision import FAIL, verify
from credit.core.errors import InvalidApplicationTransition
from credit.models import Application, ProviderMember, Score
from identity.access.scopes import SCOPES
from tests.api import assert_error, client_of
from tests.credit.scoring import submitting
from tests.credit.scoring.bundles import bundle, recorded
from tests.credit.scoring.cards import definition
from tests.credit.support import app_of, key_of, make_reviewer
from tests.factories import ApplicationFactory, UserFactory

pytestmark = pytest.mark.django_db
PATH = "/applications"
SHARES = [[], ["bank"], ["identity"], ["bank", "identity"]]


def body_for(user, offer=None, **members):
    offer_id, provider_id = (1, 1) if offer is None else (offer.pk, int(offer.provider_id))
    return {"consumer_id": str(user.pk), "offer_id": offer_id, "provider_id": provider_id, **members}


@pytest.fixture
def offer(user):
    """Return an offer whose model reads the bank balance; the person has a balance and a verified identity."""
    submitting.verify(user)
    submitting.bank_account(user, 777)
    card = definition()
    card["inputs"] += [
        {"name": "balance", "from": "bank.accounts_balance_cents", "type": "number"},
        {"name": "linked", "from": "bank.linked", "type": "boolean"},
    ]
    return submitting.scored_offer(definition=card)[0]


class TestShareField:
    def test_share_field_is_in_every_response_about_an_application(self, api, user):
        for share in (*SHARES, ["identity", "bank"], ["bank", "bank"]):
            created = api.send(PATH, body_for(user, share=share)).json()
            expected = sorted(set(share))
            assert created["share"] == expected
            assert api.read(f"{PATH}/{created['id']}").json()["share"] == expected
            assert api.read(PATH).json()[0]["share"] == expected

    def test_application_with_an_invalid_share_field_is_rejected(self, api, user):
        application = ApplicationFactory(consumer=user)
        for share in (["Bank"], ["account"], ["bank", 1], ["bank"] * 3):
            assert_error(api.send(PATH, body_for(user, share=share)), 400, "E1001")
            changed = api.replace(f"{PATH}/{application.pk}", {"updated_by": "me", "share": share})
            assert_error(changed, 400, "E1001")
        assert Application.objects.get().share == []

    def test_share_field_of_an_application_can_be_changed_only_in_a_draft(self, api, user):
        text = f"{PATH}/{api.send(PATH, body_for(user)).json()['id']}"
        assert api.replace(text, {"updated_by": "me", "share": ["bank"]}).json()["share"] == ["bank"]
        assert api.replace(text, {"updated_by": "me", "notes": "x"}).json()["share"] == ["bank"]
        assert api.replace(f"{text}/status", {"status": "submitted", "updated_by": "me"}).json()["share"] == ["bank"]
        assert_error(api.replace(text, {"updated_by": "me", "share": []}), 400, "E3004")
        assert_error(api.replace(text, {"updated_by": "me", "share": ["bank", "identity"]}), 400, "E3004")
        assert api.replace(text, {"updated_by": "me", "share": ["bank"], "notes": "y"}).json()["notes"] == "y"

    def test_submission_with_stale_data_fails_after_a_change_of_the_share_field(self, api, user):
        application = ApplicationFactory(consumer=user, share=["bank"])
        assert api.replace(f"{PATH}/{application.pk}", {"updated_by": "me", "share": []}).status_code == 200
        actor = Actor(user=user, credential="test")
        with pytest.raises(InvalidApplicationTransition), transaction.atomic():
            # The application was loaded before the change.
            application.transition_to("submitted", actor=actor, now=timezone.now())
        assert Application.objects.get().status == "draft"


class TestApps:
    @pytest.mark.parametrize("limited", [app_of, key_of])
    def test_scoped_credential_can_share_only_data_that_its_scopes_cover(self, user, limited):
        application = ApplicationFactory(consumer=user)
        path = f"{PATH}/{application.pk}"
        without = limited(user, "applications:write", "offers:read")
        for share, scope in ((["bank"], "bankdata:read"), (["identity"], "identity:read")):
            body = {"updated_by": "app", "share": share}
            for refused in (without.send(PATH, body_for(user, share=share)), without.replace(path, body)):
                assert assert_error(refused, 403, "E2005")["details"] == {"required": scope}
            allowed = limited(user, "applications:write", scope)
            assert allowed.send(PATH, body_for(user, share=share)).status_code == 201
            assert_error(allowed.send(PATH, body_for(user, share=["bank", "identity"])), 403, "E2005")
            assert allowed.replace(path, body).status_code == 200
        assert without.send(PATH, body_for(user, share=[])).status_code == 201
        assert without.replace(path, {"updated_by": "app", "share": []}).json()["share"] == []

    def test_application_submitted_by_an_app_is_scored_with_the_shared_data(self, user, offer):
        application = submitting.draft_for(offer, user, share=["bank"])
        app = app_of(user, "applications:write")
        moved = app.replace(f"{PATH}/{application.pk}/status", {"status": "submitted", "updated_by": "app"})
        assert moved.status_code == 200
        facts = Score.objects.get().kept_facts.values()
        assert (facts["bank.accounts_balance_cents"], facts["identity.verified"]) == (777, None)


class TestScores:
    @pytest.mark.parametrize(("share", "at_once"), zip(SHARES, [True, False, True, False], strict=True))
    def test_score_uses_only_shared_facts(self, api, user, offer, share, at_once):
        begun = {"initial_status": "submitted"} if at_once else {}
        body = body_for(user, offer, share=share, application_data=submitting.SAYS_GOOD, **begun)
        created = api.send(PATH, body).json()
        if not at_once:
            api.replace(f"{PATH}/{created['id']}/status", {"status": "submitted", "updated_by": "me"})
        facts = Score.objects.get().kept_facts.values()
        assert facts["bank.linked"] == (False if "bank" in share else None)
        assert facts["application_data.housing"] == "own"
        assert (facts["bank.accounts_balance_cents"] == 777) is ("bank" in share)
        assert (facts["identity.verified"] is True) is ("identity" in share)

    @pytest.mark.parametrize("share", SHARES[::3])
    def test_decision_bundle_for_a_lender_contains_only_shared_facts(self, api, user, offer, share, settings):
        settings.REVIEW_POLICY = "reviewed"
        member = UserFactory()
        ProviderMember.objects.create(provider=offer.provider, user=member)
        application = submitting.draft_for(offer, user, share=share)
        submitting.submit(api, application)
        lender, path = client_of(member), f"{PATH}/{application.pk}"
        for status in ("under_review", "rejected"):
            body = {"status": status, "updated_by": "m", "reason": "No.", "metadata": {"reasons": ["residence_short"]}}
            assert lender.replace(f"{path}/status", body).status_code == 200
        shown = lender.read(f"{path}/decision-bundle")
        assert json.loads(shown.json()["record"])["share"] == share
        facts = json.loads(shown.json()["facts"])
        assert (facts["bank.accounts_balance_cents"] == 777) is ("bank" in share)
        assert FAIL not in {step.state for step in verify(shown.content)}

    def test_decision_verifier_rejects_facts_that_were_not_shared(self):
        valid_bundle = bundle()
        assert "identity.verified" in valid_bundle["facts"]
        for share, fails in (([], True), (["bank"], True), (["identity"], False), (["bank", "identity"], False)):
            steps = verify(json.dumps(recorded(valid_bundle, share=share)).encode())
            assert (steps[-1].name == "facts" and steps[-1].state == FAIL) is fails


@pytest.mark.parametrize(
    ("share", "words"),
    [([], "nothing else"), (["bank"], "bank data"), (["bank", "identity"], "bank data, the identity check")],
)
def test_console_shows_the_shared_data_of_an_application(share, words):
    reviewer = make_reviewer(is_staff=True)
    application = ApplicationFactory(status="submitted", share=share)
    client = Client()
    client.force_login(reviewer)
    page = client.get(f"/admin/credit/application/{application.pk}/change/", follow=True).content.decode()
    assert "hared with the lender" in page
    assert words in page


def test_scope_text_states_that_an_app_can_share_data_with_lenders():
    assert "show lenders the bank accounts and identity checks that it can see" in SCOPES["applications:write"]
