"""Test the score on the page of an application."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.core.casework import Note
from credit.models import ApplicationRevision, Proposal
from credit.models.scoring import Score
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import store_score
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, seen_value, send_form, text_of
from tests.backoffice.test_applications import make, move_of, page_of
from tests.credit.erasing import erase_facts
from tests.credit.scoring.cards import GOOD, POOR
from tests.credit.scoring.past import model_of, version_of
from tests.factories import OfferFactory


@pytest.fixture
def champion(db):
    return version_of(model_of())


def case(champion, facts=POOR, purpose=Score.DECISION, **options):
    """Return a case with a score of the champion."""
    offer = OfferFactory(provider=champion.model.provider, blockscore_model_id=champion.model_id)
    application = make(offer_id=offer.pk, offer_snapshot=offer.terms(), **options)
    evaluation = evaluate(champion.card, facts)
    store_score(
        champion, facts, evaluation, purpose=purpose, user_id=application.consumer_id, application_id=application.pk,
        now=timezone.now() - timedelta(days=2),
    )  # fmt: skip
    return application


def test_case_page_shows_total_outcome_points_and_reasons_of_the_score_but_no_shadow_score(reviewers_client, champion):
    answer = reviewers_client.get(page_of(case(champion)))
    text, body = text_of(answer), answer.content.decode()
    assert "550 of 0 to 900 reject" in text
    assert "reject is below 560" in text
    assert "Proposal: reject" in text
    assert "Everyday card, version 1" in text
    assert "Income insufficient for amount of credit requested" in text
    assert "income below $1,500 20 -100" in text
    assert "housing everything else 10 -30" in text
    assert body.count('<svg class="points"') == 3
    assert "Proposal:" not in text_of(reviewers_client.get(page_of(case(champion, purpose=Score.SHADOW))))


def test_case_page_and_decision_forms_show_no_proposal_if_the_score_refers_the_case_to_a_reviewer(
    reviewers_client, champion
):
    text = text_of(reviewers_client.get(page_of(case(champion, {**GOOD, "identity.verified": False}))))
    assert "Proposal: none: a reviewer decides" in text
    assert "Unable to verify identity" in text
    assert "740 of 0 to 900 refer approve is from 640, but a knockout or a missing value sets the outcome" in text
    application = case(champion, {**GOOD, "identity.verified": False})
    for to in ("approved", "rejected"):
        assert "against the proposal" not in text_of(reviewers_client.get(move_of(application, to)))


def test_case_page_shows_a_score_without_a_proposal_while_scoring_is_off(reviewers_client, champion, settings):
    application = case(champion, status="under_review")
    settings.DECISIONING = "off"
    text = text_of(reviewers_client.get(page_of(application)))
    assert "550 of 0 to 900 reject" in text
    assert "Scores are switched off, so this score proposes nothing." in text
    assert "Proposal:" not in text
    approval = text_of(reviewers_client.get(move_of(application, "approved")))
    assert "Score's proposal None: scores are switched off" in approval
    assert "counts as an override" not in approval
    assert application.proposed_decision is None


def test_displaying_the_score_of_a_case_executes_three_sql_statements(reviewers_client, champion):
    counts, requested = {}, {}
    for name, application in (("scored", case(champion)), ("plain", make(offer_id=OfferFactory().pk))):
        reviewers_client.get(page_of(application))
        with CaptureQueriesContext(connection) as captured:
            text = text_of(reviewers_client.get(page_of(application)))
        counts[name] = len(captured)
        requested[name] = [query["sql"] for query in captured if '"credit_score"' in query["sql"]]
        assert ("Proposal:" in text) == (name == "scored")
    assert requested["plain"] == []
    assert len(requested["scored"]) == 1
    # The three extra statements read the score, the champion, and the name of the offer's scorecard.
    assert counts["scored"] == counts["plain"] + 3


def test_case_page_masks_the_score_for_support(supports_client, champion):
    answer = supports_client.get(page_of(case(champion)))
    text = text_of(answer)
    assert "The result is masked." in text
    # Match the total as a word: an id can contain the same three digits.
    for hidden in (r"\b550\b", "Income insufficient", "below $1,500", "Proposal:", '<svg class="points"'):
        assert not re.search(hidden, answer.content.decode()), hidden


def test_case_page_states_when_score_facts_were_erased_or_application_data_changed(reviewers_client, champion):
    application = case(champion)
    before = text_of(reviewers_client.get(page_of(application)))
    assert "are erased" not in before
    assert "The data changed since this score" not in before
    erase_facts(application.consumer_id)
    ApplicationRevision.objects.create(
        application=application, status="under_review", sha256="0" * 64, changes={}, updated_by="x",
        changed_at=timezone.now(), principal=application.consumer, credential="test",
    )  # fmt: skip
    after = text_of(reviewers_client.get(page_of(application)))
    assert "The facts that this score was computed from are erased." in after
    assert "The data changed since this score was computed." in after
    assert "550 of 0 to 900" in after


def test_override_of_the_score_requires_a_reason(reviewers_client, champion):
    application = case(champion)
    against = "The score, 550, proposes to reject it: a different decision requires a reason"
    page = reviewers_client.get(move_of(application, "approved"))
    assert text_of(page).count(against) == 1
    assert page.context["warning"].startswith(against)
    assert against not in text_of(reviewers_client.get(move_of(application, "rejected")))
    assert against not in text_of(reviewers_client.get(move_of(application, "pending_documents")))
    address = move_of(application, "approved")
    page = reviewers_client.get(address)
    sent = {"seen": seen_value(page), "terms_seen": page.context.get("terms_seen", ""), "reason": ""}
    answer = reviewers_client.post(address, sent)
    assert answer.status_code == 200
    assert answer.context["form"].errors == {"score_reason": ["This field is required."]}
    application.refresh_from_db()
    assert application.status == "under_review"


@pytest.mark.parametrize(("facts", "to", "fields", "default"), [
    (POOR, "approved", {"amount": "10000", "rate_percent": "8"}, "A reviewer approved the application."),
    (GOOD, "rejected", {"code_1": "income_insufficient"}, "Income insufficient for amount of credit requested."),
])  # fmt: skip
class TestReasonAgainstTheScore:
    def test_decision_form_requires_an_internal_reason_only_for_a_decision_against_the_score(
        self, reviewers_client, champion, facts, to, fields, default
    ):
        address = move_of(case(champion, facts), to)
        page = reviewers_client.get(address)
        shown = page.context["form"].fields
        assert shown["score_reason"].required
        assert not shown["reason"].required
        assert "Optional. The applicant reads it." in shown["reason"].help_text
        assert "Why you deviate from the score Colleagues read your reason on the case." in text_of(page)
        answer = send_form(reviewers_client, address, **fields, reason="Welcome.")
        assert list(answer.context["form"].errors) == ["score_reason"]
        follows = {"approved": "rejected", "rejected": "approved"}[to]
        form = reviewers_client.get(move_of(case(champion, facts), follows)).context["form"]
        assert "score_reason" not in form.fields

    def test_internal_reason_of_a_decision_against_the_score_is_stored_as_a_case_note(
        self, reviewers_client, champion, facts, to, fields, default
    ):
        application = case(champion, facts)
        confirm(reviewers_client, move_of(application, to), **fields, score_reason="Known to us.")
        noun = {"approved": "Approval", "rejected": "Rejection"}[to]
        assert Note.objects.get().text == f"{noun} against the score's proposal: Known to us."
        application.refresh_from_db()
        row = application.history.get(status=to)
        assert (application.status, application.status_reason, row.reason) == (to, default, default)
        assert "Known to us." not in str(row.metadata)
        assert "Known to us." in text_of(reviewers_client.get(page_of(application)))

    def test_applicant_sees_the_reviewers_text_and_not_the_internal_reason(
        self, reviewers_client, champion, facts, to, fields, default
    ):
        application = case(champion, facts)
        texts = {"score_reason": "Known to us.", "reason": "Thank you for your patience."}
        confirm(reviewers_client, move_of(application, to), **fields, **texts)
        answer = client_of(application.consumer).read(f"/applications/{application.pk}/history")
        assert "Thank you for your patience." in answer.content.decode()
        assert "Known to us." not in answer.content.decode()

    def test_proposal_stores_the_internal_reason_until_its_confirmation(
        self, reviewers_client, champion, facts, to, fields, default, settings
    ):
        settings.REVIEW_POLICY = "four_eyes"
        application = case(champion, facts)
        confirm(reviewers_client, move_of(application, to), **fields, score_reason="Known to us.")
        proposal = Proposal.objects.get()
        assert (proposal.reason, Note.objects.exists()) == (default, False)
        colleague = backoffice_client(staff_of("Reviewer"))
        address = reverse("admin:credit_application_proposal", args=[application.pk, proposal.pk, "confirm"])
        assert "Reason against the score Known to us." in text_of(colleague.get(address))
        send_form(colleague, address)
        row = application.history.get(status=to)
        assert row.reason == default
        assert "Known to us." not in str(row.metadata)
        timeline = text_of(reviewers_client.get(page_of(application)))
        assert "Against the score's proposal: Known to us." in timeline
