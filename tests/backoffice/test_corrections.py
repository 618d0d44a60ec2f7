"""Test the queue of corrections, their answers, and litigation holds in the console."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from config.backoffice.queues import states_of
from credit.core.figures import reference_of
from credit.models import Correction, RetentionHold
from tests.backoffice.conftest import staff_of
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import confirm, messages_of, send_form, text_of
from tests.backoffice.test_applications import make, page_of
from tests.credit.test_my_pages import browser_of

pytestmark = pytest.mark.django_db
FACT = "application_data.monthly_income_cents"
LIST = reverse("admin:credit_correction_changelist")


def page(correction):
    return reverse("admin:credit_correction_change", args=[correction.pk])


def answer_page(correction):
    return reverse("admin:credit_correction_do", args=[correction.pk, "answer"])


def correction_of(application, **columns):
    now = timezone.now()
    return Correction.objects.create(
        application=application, fact=FACT, claimed="320000", statement="A digit was wrong.", requested_at=now,
        due_at=now + timedelta(days=30), **columns,
    )  # fmt: skip


@pytest.fixture
def correction(db):
    return correction_of(make("rejected"))


def test_correction_queue_and_list_show_open_and_answered_corrections_separately(
    reviewer, correction, reviewers_client
):
    correction_of(make("rejected")).close(Correction.REFUSED, by=reviewer, now=timezone.now())
    waiting = {state.queue.name: state.count for state in states_of(reviewer)}
    assert waiting["corrections"] == 1
    assert "Correction of Monthly income" in text_of(reviewers_client.get(page(correction)))
    assert str(correction.pk) in reviewers_client.get(LIST, {"state": "open"}).content.decode()
    assert str(correction.pk) not in reviewers_client.get(LIST, {"state": "answered"}).content.decode()


def test_correction_answer_page_shows_both_values_and_the_applicants_statement(reviewers_client):
    application = make("rejected", application_data={"amount_cents": 500_000, "monthly_income_cents": 210_000})
    correction = correction_of(application)
    for address in (page(correction), answer_page(correction)):
        text = text_of(reviewers_client.get(address))
        assert "A digit was wrong." in text
        assert "$2,100.00" in text
        assert "$3,200.00" in text
    assert "Monthly income $2,100.00 → $3,200.00" in text
    correction.application.application_data = {"amount_cents": 500_000}
    correction.application.save()
    assert "Monthly income — → $3,200.00" in text_of(reviewers_client.get(answer_page(correction)))


def test_answer_to_a_correction_requires_a_reason_and_is_stored_only_once(reviewers_client, correction, reviewer):
    send_form(reviewers_client, answer_page(correction), status="corrected", reason="")
    correction.refresh_from_db()
    assert correction.closed_at is None
    text = text_of(confirm(reviewers_client, answer_page(correction), status="refused", reason="No document shows it."))
    assert "You answered the correction." in text
    correction.refresh_from_db()
    assert (correction.status, correction.reason) == ("refused", "No document shows it.")
    assert correction.closed_by == reviewer
    assert "The correction is already answered." in reviewers_client.get(page(correction)).content.decode()


def test_support_and_other_lenders_cannot_read_or_answer_a_correction(supports_client, correction):
    body = supports_client.get(page(correction)).content.decode()
    assert "320000" not in body
    assert "A digit was wrong." not in body
    assert "$" not in body
    assert supports_client.post(answer_page(correction), {"status": "refused", "reason": "x"}).status_code == 403
    ours, theirs = lender_of("northern", 71), lender_of("southern", 72)
    correction = correction_of(theirs.application)
    client = console_client(ours.people["reviewer"])
    assert "Monthly income" not in client.get(LIST).content.decode()
    assert "Monthly income" not in client.get(page(correction), follow=True).content.decode()


def test_case_page_with_open_corrections_executes_one_additional_sql_statement(
    reviewers_client, django_assert_max_num_queries
):
    application = make("rejected")
    reviewers_client.get(page_of(application))
    with django_assert_max_num_queries(100) as without:
        assert "Corrections to answer" not in text_of(reviewers_client.get(page_of(application)))
    correction_of(application)
    with django_assert_max_num_queries(len(without) + 1):
        assert "Corrections to answer: Monthly income (" in text_of(reviewers_client.get(page_of(application)))


class TestLitigationHold:
    def test_operations_can_start_and_end_a_litigation_hold_on_a_case(self, reviewers_client):
        application = make()
        client = console_client(staff_of("Operations", "Support", username="olga"))
        place = reverse("admin:credit_application_do", args=[application.pk, "hold"])
        message = f"The litigation hold of {reference_of(application.pk)} is"
        assert f"{message} on." in messages_of(send_form(client, place, reason="Case 28-cv-1"))
        hold = RetentionHold.objects.get()
        assert (hold.is_on, hold.reason, hold.principal.username) == (True, "Case 28-cv-1", "olga")
        assert "Case 28-cv-1" in text_of(reviewers_client.get(page_of(application)))
        assert f"{message} off." in messages_of(send_form(client, place, reason="Settled"))
        assert "Litigation hold since" not in text_of(reviewers_client.get(page_of(application)))

    def test_reviewers_and_lender_members_cannot_change_or_read_a_litigation_hold(self, reviewers_client):
        application = make()
        place = reverse("admin:credit_application_do", args=[application.pk, "hold"])
        assert reviewers_client.post(place, {"reason": "x"}).status_code in {302, 403, 404}
        assert not RetentionHold.objects.exists()
        assert "litigation hold" not in text_of(reviewers_client.get(page_of(application)))
        lender = lender_of("northern", 71)
        RetentionHold.objects.create(
            application=lender.application, is_on=True, reason="Case 28", at=timezone.now(),
            principal=staff_of("Operations"), credential="test",
        )  # fmt: skip
        body = console_client(lender.people["reviewer"]).get(page_of(lender.application)).content.decode()
        assert "Case 28" not in body


def test_answer_to_a_correction_is_stored_with_the_chosen_language(reviewers_client, correction):
    user = correction.application.consumer
    type(user).objects.filter(pk=user.pk).update(language="es")
    assert "The applicant reads Spanish." in text_of(reviewers_client.get(answer_page(correction)))
    confirm(reviewers_client, answer_page(correction), status="refused", reason="No lo muestra.", language="es")
    correction.refresh_from_db()
    assert (correction.reason, correction.reason_language) == ("No lo muestra.", "es")
    page = browser_of(user).get(f"/my/applications/{correction.application_id}/explanation").content.decode()
    assert "<bdi>No lo muestra.</bdi>" in page
