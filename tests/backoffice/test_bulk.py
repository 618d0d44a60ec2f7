"""Test bulk decisions, rejections with principal reasons, and the document checklist of the back office."""

import pytest
from django.urls import reverse

from config.backoffice import bases as bulk
from config.webhooks.models import Event
from credit.core.figures import reference_of
from credit.models import Application, ApplicationHistory, Proposal, RequestedDocument
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client
from tests.backoffice.pages import confirm, messages_of, send_form, text_of
from tests.backoffice.test_applications import LIST, make, move_of, page_of

ADDRESS = f"{LIST}bulk/rejected/"


def choose(client, applications, to="rejected"):
    data = {"action": f"move_to_{to}", "_selected_action": [str(row.pk) for row in applications], "index": "0"}
    return client.post(LIST, data, follow=True)


def rows_in(response):
    return [row["seen"] for row in response.context["rows"] if not row["refusal"]]


def test_three_applications_are_previewed_and_rejected_in_bulk(reviewers_client):
    chosen = [make() for _ in range(3)]
    other = make()
    preview = choose(reviewers_client, chosen)
    assert "3 of 3 can make the transition to rejected now" in text_of(preview)
    assert not ApplicationHistory.objects.exists()
    result = reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk", "code_1": "no_credit_file"})
    assert "Done: 3 of 3." in text_of(result)
    assert Application.objects.filter(status="rejected").count() == 3
    assert {row.metadata["reasons"][0] for row in ApplicationHistory.objects.all()} == {"no_credit_file"}
    other.refresh_from_db()
    assert other.status == "under_review"


def test_bulk_decision_skips_drafts_invalid_rows_and_changed_applications(reviewers_client):
    able, draft = make(), make("draft")
    preview = choose(reviewers_client, [able, draft])
    text = text_of(preview)
    assert "1 of 2 can make the transition" in text
    assert f"Skipped: {reference_of(draft.pk)} must be under review or pending documents first." in text
    assert [seen.partition("|")[0] for seen in rows_in(preview)] == [str(able.pk)]
    rows = ["", "|", "x|y", "019a0000-0000-7000-8000-000000000000|draft:0", "\x00|"]
    response = reviewers_client.post(ADDRESS, {"row": rows, "seen": "bulk", "code_1": "bankruptcy"})
    assert "Done: 0 of 0." in text_of(response)
    assert "You selected no rows" in messages_of(reviewers_client.post(ADDRESS, {"seen": "bulk"}))
    assert "You selected no rows" in messages_of(reviewers_client.get(ADDRESS))
    first, second = make(application_data={"a": 1}), make()
    preview = choose(reviewers_client, [first, second])
    Application.objects.filter(pk=first.pk).update(application_data={"a": 2})
    result = reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk", "code_1": "bankruptcy"})
    text = text_of(result)
    assert "Done: 1 of 2." in text
    assert "Skipped: The record changed" in text
    first.refresh_from_db()
    assert first.status == "under_review"


def test_invalid_bulk_form_changes_nothing_and_preserves_the_selection(reviewers_client):
    preview = choose(reviewers_client, [make(), make()])
    again = reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk"})
    assert "errorlist" in again.content.decode()
    assert rows_in(again) == rows_in(preview)
    assert not ApplicationHistory.objects.exists()


def test_bulk_decision_above_the_maximum_number_of_rows_is_rejected(reviewers_client, monkeypatch):
    monkeypatch.setattr(bulk, "ROWS_MAX", 2)
    chosen = [make() for _ in range(3)]
    assert "At most 2 at once" in text_of(choose(reviewers_client, chosen))
    rows = [f"{row.pk}|x" for row in chosen]
    assert "At most 2 at once" in messages_of(reviewers_client.post(ADDRESS, {"row": rows, "seen": "x"}))


def test_bulk_decision_under_four_eyes_creates_proposals(reviewers_client, settings):
    settings.REVIEW_POLICY = "four_eyes"
    preview = choose(reviewers_client, [make(), make()])
    reviewers_client.post(ADDRESS, {"row": rows_in(preview), "seen": "bulk", "code_1": "bankruptcy"})
    assert Proposal.objects.filter(to="rejected").count() == 2
    assert not ApplicationHistory.objects.exists()


def test_bulk_form_rejects_support_staff_and_transitions_that_are_not_offered_in_bulk(
    reviewers_client, supports_client, reviewer
):
    for to in ["expired", "withdrawn", "nonsense"]:
        assert reviewers_client.post(f"{LIST}bulk/{to}/", {"row": "x|y", "seen": "x"}).status_code == 403, to
    application = make()
    assert "_selected_action" not in supports_client.get(LIST).content.decode()
    choose(supports_client, [application])
    assert supports_client.post(ADDRESS, {"row": f"{application.pk}|x", "seen": "x"}).status_code == 403
    strict = backoffice_client(reviewer, enforce_csrf_checks=True)
    assert strict.post(ADDRESS, {"row": f"{application.pk}|x"}).status_code == 403
    assert not ApplicationHistory.objects.exists()


def test_rejection_stores_its_principal_reasons_in_order(reviewers_client):
    application = make()
    send_form(
        reviewers_client, move_of(application, "rejected"), code_1="income_insufficient",
        code_2="obligations_excessive", code_3="no_credit_file", code_4="residence_short",
    )  # fmt: skip
    row = ApplicationHistory.objects.get()
    assert row.metadata["reasons"] == [
        "income_insufficient", "obligations_excessive", "no_credit_file", "residence_short",
    ]  # fmt: skip
    assert row.reason.startswith("Income insufficient for amount of credit requested; Excessive obligations")


def test_rejection_with_the_reason_other_stores_the_reviewers_text(reviewers_client):
    fields = {"code_1": "other", "code_2": "bankruptcy", "other": "The car is too old"}
    send_form(reviewers_client, move_of(make(), "rejected"), **fields)
    row = ApplicationHistory.objects.get()
    assert row.metadata["reasons"] == [{"code": "other", "text": "The car is too old"}, "bankruptcy"]
    assert row.reason == "The car is too old; Bankruptcy."


def test_reviewers_text_replaces_the_generated_rejection_text(reviewers_client):
    send_form(reviewers_client, move_of(make(), "rejected"), code_1="bankruptcy", reason="We are sorry.")
    assert ApplicationHistory.objects.get().reason == "We are sorry."


def test_back_office_rejection_with_invalid_reasons_fails(reviewers_client):
    for fields, name, error in [
        ({}, "code_1", "Select the principal reason."),
        ({"code_2": "bankruptcy"}, "code_1", "Select the principal reason."),
        ({"code_1": "made_up"}, "code_1", "Select a valid choice."),
        ({"code_1": "bankruptcy", "code_2": "bankruptcy"}, "code_2", "Select each principal reason only once."),
        ({"code_1": "other"}, "other", "Enter the other reason."),
        (
            {"code_1": "bankruptcy", "other": "The car"},
            "other",
            "Select “Another reason, in your words”",
        ),
        ({"code_1": "other", "other": "x" * 121}, "other", "Ensure this value has at most 120 characters"),
        ({"code_1": "other", "other": "Credit policy"}, "other", "This is no specific reason."),
        ({"code_1": "bankruptcy", "code_2": "inquiries_recent"}, "code_2", "This reason refers to a credit report."),
    ]:
        response = confirm(reviewers_client, move_of(make(), "rejected"), reason="No.", **fields)
        errors = response.context["form"].errors
        assert [name] == [*errors], fields
        assert errors[name][0].startswith(error), fields
        assert response.context["form"]["reason"].value() == "No."
        assert not ApplicationHistory.objects.exists(), fields


@pytest.fixture
def incomplete(reviewers_client):
    """Return an application with two requested documents."""
    application = make()
    lines = "Payslip of  September\n\n Payslip of October \nPayslip of October"
    send_form(reviewers_client, move_of(application, "pending_documents"), reason="Please send these.", documents=lines)
    return application


def mark(client, application, document, status):
    address = reverse("admin:credit_application_document", args=[application.pk, document.pk])
    return messages_of(client.post(address, {"status": status, "reason": "By post."}))


def test_document_checklist_shows_the_applicant_each_requested_document_once(incomplete, reviewers_client):
    assert [row.name for row in incomplete.requested_documents.all()] == ["Payslip of September", "Payslip of October"]
    assert ApplicationHistory.objects.get().metadata == {"documents": ["Payslip of September", "Payslip of October"]}
    api = client_of(incomplete.consumer)
    first = incomplete.requested_documents.first()
    mark(reviewers_client, incomplete, first, "received")
    details = api.read(f"/applications/{incomplete.pk}/transitions").json()["details"]
    assert [(entry["name"], entry["status"]) for entry in details["documents"]] == [
        ("Payslip of September", "received"), ("Payslip of October", "requested"),
    ]  # fmt: skip
    assert details["documents"][0]["received_at"]
    assert details["documents"][1]["received_at"] is None
    assert set(details["documents"][0]) == {
        "id", "name", "status", "reason", "requested_at", "received_at", "accepted_at", "files",
    }  # fmt: skip


def test_reviewer_can_accept_a_document_or_request_a_new_file_in_the_checklist_row(incomplete, reviewers_client):
    document = incomplete.requested_documents.first()
    mark(reviewers_client, incomplete, document, "received")
    assert "is accepted" in mark(reviewers_client, incomplete, document, "accepted")
    document.refresh_from_db()
    assert document.received_at < document.accepted_at
    mark(reviewers_client, incomplete, document, "requested")
    document.refresh_from_db()
    assert (document.status, document.received_at, document.accepted_at) == ("requested", None, None)
    assert Event.objects.filter(type="application.updated").count() == 3
    mark(reviewers_client, incomplete, incomplete.requested_documents.first(), "received")
    incomplete.refresh_from_db()
    send_form(reviewers_client, move_of(incomplete, "under_review"))
    send_form(
        reviewers_client, move_of(incomplete, "pending_documents"), reason="Again", documents="Payslip of September"
    )
    assert RequestedDocument.objects.count() == 2
    assert incomplete.requested_documents.first().status == "requested"


def test_document_update_with_an_unknown_status_or_for_another_application_changes_nothing(
    incomplete, reviewers_client
):
    document, refusal = incomplete.requested_documents.first(), "Document not found on the checklist"
    for status in ("", "burnt", "ACCEPTED"):
        assert refusal in mark(reviewers_client, incomplete, document, status), status
    assert refusal in mark(reviewers_client, make(), document, "accepted")
    assert {row.status for row in RequestedDocument.objects.all()} == {"requested"}


def test_document_status_change_requires_post_and_is_forbidden_to_support(
    incomplete, reviewers_client, supports_client
):
    document = incomplete.requested_documents.first()
    address = reverse("admin:credit_application_document", args=[incomplete.pk, document.pk])
    reviewers_client.get(address, {"status": "accepted"})
    assert supports_client.post(address, {"status": "accepted"}).status_code == 403
    document.refresh_from_db()
    assert document.status == "requested"
    assert "Accept" not in text_of(supports_client.get(page_of(incomplete)))


def test_back_office_normalizes_or_rejects_document_names_like_the_api(reviewers_client):
    application = make()
    name = "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"
    lines = f"  Pay\u00a0slip  of\u3000May \n{name}"
    send_form(reviewers_client, move_of(application, "pending_documents"), reason="Please", documents=lines)
    assert set(application.requested_documents.values_list("name", flat=True)) == {"Pay slip of May", name}
    for lines in [
        "", "\n \n", "x" * 256, "Pay\u202eslip", "Payslip\u200b", "\u3164", "a\0b",
        "\n".join(f"document {n}" for n in range(31)),
    ]:  # fmt: skip
        application = make()
        send_form(reviewers_client, move_of(application, "pending_documents"), reason="Please", documents=lines)
        application.refresh_from_db()
        assert application.status == "under_review", lines
