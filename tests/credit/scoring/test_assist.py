"""Test that decisions against the score require a reason, and are counted as overrides."""

from datetime import timedelta

import pytest
from django.utils import timezone

from credit.anchoring import record_keys
from credit.models import DecisionAnchor, Proposal, Score
from credit.scoring.metrics import measure
from credit.scoring.monitoring import Overrides, count_overrides
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, send_form, text_of
from tests.backoffice.test_applications import move_of
from tests.credit.erasing import erase_facts
from tests.credit.scoring.bundles import fields_of_anchor
from tests.credit.scoring.cards import definition
from tests.credit.scoring.submitting import SAYS_GOOD, SAYS_POOR, draft_for, scored_offer, submit, verify
from tests.credit.support import make_reviewer
from tests.credit.support import move as decide
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
BECAUSE = {"reasons": ["no_credit_file"]}


@pytest.fixture
def offer(db):
    """Return an offer whose model approves good facts and declines poor facts."""
    return scored_offer()[0]


def in_review(api, user, offer, said):
    """Return a scored application under review."""
    if not user.verifications.exists():
        verify(user)
    application = draft_for(offer, user, said)
    assert submit(api, application).status_code == 200
    assert decide(api, application, "under_review").status_code == 200
    return application


class TestOverrides:
    def test_decision_against_the_score_requires_a_reason(self, api, user, offer):
        for said, proposed, other in ((SAYS_GOOD, "approved", "rejected"), (SAYS_POOR, "rejected", "approved")):
            application = in_review(api, user, offer, said)
            for reason in (None, "", " \n"):
                body = assert_error(decide(api, application, other, reason=reason), 400, "E1017")
                assert body["message"].startswith(f"The score proposes `{proposed}`")
            application.refresh_from_db()
            assert application.status == "under_review"
            assert decide(api, application, other, reason="Known to us").json()["status"] == other

    def test_principal_reasons_are_accepted_as_the_reason_for_a_decision_against_the_score(self, api, user, offer):
        shown = decide(api, in_review(api, user, offer, SAYS_GOOD), "rejected", metadata=BECAUSE).json()
        assert (shown["status"], shown["status_reason"]) == ("rejected", "No credit file.")

    def test_decision_requires_no_reason_if_the_score_agrees_or_refers_or_scoring_is_off(
        self, api, user, offer, settings
    ):
        card = definition(outcomes=[{"outcome": "approve", "from": 10_000}, {"outcome": "refer"}])
        referring = scored_offer(definition=card)[0]
        for said, proposed, other in ((SAYS_GOOD, "approved", "rejected"), (SAYS_POOR, "rejected", "approved")):
            settings.DECISIONING = "assist"
            for lender, to in ((offer, proposed), (referring, other)):
                assert decide(api, in_review(api, user, lender, said), to).json()["status"] == to
            application = in_review(api, user, offer, said)
            settings.DECISIONING = "off"
            assert decide(api, application, other).json()["status"] == other


def test_rejection_without_reasons_returns_the_allowed_codes_under_every_policy(api, user, offer, settings):
    application = in_review(api, user, offer, SAYS_POOR)
    reviewer = make_reviewer()
    answers = []
    for settings.REVIEW_POLICY in ("reviewed", "four_eyes"):
        answers.append(assert_error(decide(client_of(reviewer), application, "rejected"), 400, "E1017"))
    assert answers[0]["details"] == answers[1]["details"]
    assert "no_credit_file" in answers[0]["details"]["codes"]


class TestTwoReviewers:
    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.REVIEW_POLICY = "four_eyes"

    @pytest.fixture
    def application(self, user, offer):
        verify(user)
        application = draft_for(offer, user, SAYS_POOR)
        submit(client_of(user), application)
        reviewer = make_reviewer()
        assert decide(client_of(reviewer), application, "under_review").status_code == 200
        return application

    def test_proposal_against_the_score_requires_a_reason_over_the_api(self, application):
        first, second = make_reviewer(), make_reviewer()
        assert_error(decide(client_of(first), application, "approved"), 400, "E1017")
        assert not Proposal.objects.exists()
        assert decide(client_of(first), application, "approved", reason="Known").json()["status"] == "under_review"
        assert decide(client_of(second), application, "approved").json()["status"] == "approved"

    def test_proposal_against_the_score_requires_a_reason_in_the_back_office(self, application):
        backoffice = backoffice_client(staff_of("Reviewer", username="rita"))
        page = text_of(confirm(backoffice, move_of(application, "approved")))
        assert "Why you deviate from the score: This field is required." in page
        assert not Proposal.objects.exists()
        send_form(backoffice, move_of(application, "approved"), score_reason="Known to us")
        assert Proposal.objects.get().to == "approved"
        assert decide(client_of(make_reviewer()), application, "approved").json()["status"] == "approved"
        moved = client_of(application.consumer).read(f"/applications/{application.pk}/history").content.decode()
        assert "A reviewer approved the application." in moved
        assert "Known to us" not in moved


class TestOverrideCounts:
    def test_monitoring_counts_overrides_by_the_last_decision_on_each_application(self, api, user, offer):
        followed, overridden, corrected, _undecided = (in_review(api, user, offer, SAYS_POOR) for _ in range(4))
        decide(api, followed, "rejected")
        decide(api, overridden, "approved", reason="Known")
        decide(api, corrected, "approved", reason="Known")
        decide(api, corrected, "under_review")
        decide(api, corrected, "rejected")
        version, now = Score.objects.first().version_id, timezone.now()
        month = {"since": now - timedelta(days=30), "until": now}
        assert count_overrides(version, **month) == Overrides(as_proposed=2, otherwise=1)
        assert count_overrides(version, **month).rate == pytest.approx(1 / 3)
        assert count_overrides(version, since=now, until=now + timedelta(days=1)).rate is None
        assert count_overrides(version + 1, **month) == (0, 0)
        readings = {
            (item.name, item.labels.get("decided")): item.value for item in measure(using="default", now=timezone.now())
        }
        assert readings["platform_score_proposals", "as_proposed"] == 2
        assert readings["platform_score_proposals", "otherwise"] == 1


def test_decision_record_contains_the_score_and_the_hash_of_erased_facts(api, user, offer):
    application = in_review(api, user, offer, SAYS_POOR)
    erase_facts(user.pk)
    assert decide(api, application, "rejected", metadata=BECAUSE).status_code == 200
    record, score = fields_of_anchor(DecisionAnchor.objects.get(application=application)), Score.objects.get()
    assert {
        "record_version": 4, "model_id": score.version.model_id, "model_version": 1,
        "definition_sha256": score.version.definition_sha256, "facts_sha256": score.facts_sha256, "total": 550,
        "outcome": "decline", "reasons": ["no_credit_file"], "automated": False,
        "score_reasons": ["income_insufficient", "obligations_excessive", "residence_short"],
    }.items() <= record.items()  # fmt: skip


def test_decision_on_an_application_with_a_scoring_model_executes_one_additional_sql_statement(
    api, user, offer, no_rate_limits, django_assert_max_num_queries
):
    record_keys.key_at(timezone.now())  # This decision creates the first key.
    applications = [
        in_review(api, user, lender, SAYS_POOR) for lender in (offer, OfferFactory(provider=offer.provider))
    ]
    api.read("/auth/me")
    counts = []
    for application in applications:
        with django_assert_max_num_queries(30) as captured:
            assert decide(api, application, "rejected").status_code == 200
        counts.append(len(captured.captured_queries))
    assert counts[0] == counts[1] + 1
