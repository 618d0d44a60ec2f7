"""Test requested documents and their readers at /v1/applications/{id}/documents."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.webhooks.models import Event
from credit.models import Application, ApplicationHistory, ProviderMember, RequestedDocument
from tests.api import ApiClient, assert_error, client_of
from tests.credit.document_support import send_file, with_documents
from tests.factories import ApplicationFactory, ProviderFactory
from tests.identity.support import issue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
MEMBERS = {"id", "name", "status", "reason", "requested_at", "received_at", "accepted_at", "files"}


@pytest.fixture
def application(user):
    return ApplicationFactory(consumer=user, status="under_review", initial_status="draft")


def request_documents(api, application, *names, **options):
    body = {"names": list(names) or ["Payslip", "Passport"], **options.pop("members", {})}
    return api.send(f"/applications/{getattr(application, 'pk', application)}/documents", body, **options)


@pytest.mark.parametrize("status", ["submitted", "under_review"])
def test_requesting_documents_changes_the_status_and_creates_the_checklist(reviewers_api, reviewer, user, status):
    application = ApplicationFactory(consumer=user, status=status)
    answer = request_documents(reviewers_api, application, members={"reason": "We need these two."})
    assert answer.status_code == 201
    shown = answer.json()["documents"]
    assert [(document["name"], document["status"], document["files"]) for document in shown] == [
        ("Payslip", "requested", []), ("Passport", "requested", []),
    ]  # fmt: skip
    assert set(shown[0]) == MEMBERS
    application.refresh_from_db()
    assert (application.status, application.status_reason) == ("pending_documents", "We need these two.")
    added = request_documents(reviewers_api, application, "Lease").json()
    assert (added["total"], added["documents"][-1]["name"]) == (3, "Lease")
    row = ApplicationHistory.objects.get()
    assert (row.status, row.principal, row.changed_by) == ("pending_documents", reviewer, str(reviewer.pk))
    assert row.metadata == {"documents": ["Payslip", "Passport"]}
    types = [event.type for event in Event.objects.order_by("id")]
    assert types == ["application.pending_documents", "application.updated"]


def test_applicant_and_reviewers_can_read_the_document_checklist(reviewers_api, api, application):
    assert api.read(f"/applications/{application.pk}/documents").json() == {"documents": [], "total": 0}
    request_documents(reviewers_api, application)
    for client in (reviewers_api, api):
        shown = client.read(f"/applications/{application.pk}/documents").json()
        assert [document["name"] for document in shown["documents"]] == ["Payslip", "Passport"]
        details = client.read(f"/applications/{application.pk}/transitions").json()["details"]
        assert details["documents"] == shown["documents"]


def test_document_list_of_any_length_executes_a_fixed_number_of_sql_statements(
    api, user, django_assert_num_queries, no_rate_limits, django_assert_max_num_queries
):
    application = with_documents(user, *(f"Document {number}" for number in range(12)))
    for document in RequestedDocument.objects.all():
        assert send_file(api, application, document=document).status_code == 201
    with django_assert_max_num_queries(4):
        shown = api.read(f"/applications/{application.pk}/documents").json()
    assert [len(item["files"]) for item in shown["documents"]] == [1] * 12


def test_member_of_the_lender_can_request_documents(user, stranger, stranger_api):
    provider = ProviderFactory(id="77")
    application = ApplicationFactory(consumer=user, status="submitted", provider_id=77)
    assert_error(request_documents(stranger_api, application), 404, "E4002")
    ProviderMember.objects.create(provider=provider, user=stranger)
    assert request_documents(stranger_api, application).status_code == 201


def test_requesting_an_uploaded_document_again_reopens_the_document(reviewers_api, api, application):
    request_documents(reviewers_api, application, "Payslip")
    for title in ("Payslip", "payslip", "P\u0430yslip", "\uff30ayslip"):
        assert send_file(api, application).status_code == 201
        (document,) = request_documents(reviewers_api, application, title, title.upper()).json()["documents"]
        assert (document["status"], document["received_at"]) == ("requested", None), title
    assert len(document["files"]) == 4


def test_applicant_can_request_documents_only_under_the_open_policy(
    api, application, settings, reviewer, reviewers_api
):
    assert_error(request_documents(api, application), 403, "E2010")
    asked_already = with_documents(application.consumer)
    assert_error(request_documents(api, asked_already, "Another"), 403, "E2010")
    settings.REVIEW_POLICY = "four_eyes"
    own = ApplicationFactory(consumer=reviewer, status="under_review")
    assert_error(request_documents(reviewers_api, own), 403, "E2010")
    assert_error(request_documents(reviewers_api, with_documents(reviewer)), 403, "E2010")
    assert RequestedDocument.objects.count() == 2
    settings.REVIEW_POLICY = "open"
    assert request_documents(api, application).status_code == 201


def test_staff_without_a_second_factor_cannot_request_documents(application, reviewer, settings):
    settings.BACKOFFICE_SECOND_FACTOR = True
    assert_error(request_documents(client_of(reviewer), application), 403, "E2012")
    assert_error(request_documents(client_of(reviewer), with_documents(application.consumer)), 403, "E2012")
    assert not ApplicationHistory.objects.exists()


def test_only_unrestricted_keys_can_request_documents(application, reviewer):
    limited = ApiClient(api_key=issue(reviewer, scopes=["applications:read", "applications:write"]).key)
    assert_error(request_documents(limited, application), 403, "E2005")
    assert request_documents(ApiClient(api_key=issue(reviewer).key), application).status_code == 201


def test_documents_cannot_be_requested_for_a_draft_or_closed_application_or_with_invalid_names(
    reviewers_api, user, application
):
    for status in ("draft", "approved", "rejected", "withdrawn", "expired"):
        answer = request_documents(reviewers_api, ApplicationFactory(consumer=user, status=status))
        assert (answer.status_code, answer.json()["code"]) == ((404, "E4002") if status == "draft" else (400, "E3001"))
    for names in ([""], ["   "], ["x" * 256], ["Payslip", 5], [None], ["\u202eright to left"], ["Pay\u200bslip"]):
        answer = reviewers_api.send(f"/applications/{application.pk}/documents", {"names": names})
        assert_error(answer, 400, "E1001")
    assert not RequestedDocument.objects.exists()


def test_document_checklist_is_limited_to_30_documents(reviewers_api, user):
    application = with_documents(user, *(f"Document {number}" for number in range(29)))
    assert request_documents(reviewers_api, application, "The thirtieth").status_code == 201
    assert_error(request_documents(reviewers_api, application, "One more"), 400, "E1001")
    assert RequestedDocument.objects.count() == 30


def test_document_names_are_stored_normalized(reviewers_api, application):
    # The name is a payslip with a zero-width joiner.
    persian = "\u0641\u06cc\u0634\u200c\u062d\u0642\u0648\u0642\u06cc"
    names = ("'; DROP TABLE", "<script>", " Caf\u0065\u0301 ", "Pay\u00a0slip", persian)
    shown = request_documents(reviewers_api, application, *names).json()
    assert [document["name"] for document in shown["documents"]] == [
        "'; DROP TABLE", "<script>", "Caf\u00e9", "Pay slip", persian
    ]  # fmt: skip


class TestReturnToReview:
    def move(self, api, application):
        return api.replace(f"/applications/{application.pk}/status", {"status": "under_review", "updated_by": "me"})

    def shown(self, api, application):
        moves = api.read(f"/applications/{application.pk}/transitions").json()["transitions"]
        return next(move for move in moves if move["to"] == "under_review")

    def test_applicant_can_return_an_application_to_review_when_every_document_has_a_file(
        self, api, reviewers_api, user
    ):
        application = with_documents(user, "Payslip", "Passport")
        first, second = application.requested_documents.all()
        send_file(api, application, document=first)
        refused = self.shown(api, application)
        assert (refused["allowed"], refused["code"]) == (False, "E3001")
        assert "Passport" in refused["why"]
        assert "Payslip" not in refused["why"]
        error = assert_error(self.move(api, application), 400, "E3001")
        assert error["details"]["documents"] == ["Passport"]
        assert "under_review" not in error["details"]["allowed"]
        send_file(api, application, document=second)
        request_documents(reviewers_api, application, "Passport")  # A second request requires another file.
        assert_error(self.move(api, application), 400, "E3001")
        send_file(api, application, document=second)
        assert self.shown(api, application)["allowed"] is True
        assert self.move(api, application).json()["status"] == "under_review"
        outside = with_documents(user)
        outside.requested_documents.update(status="received", received_at=timezone.now())
        assert self.move(api, outside).status_code == 200

    def test_return_to_review_without_files_requires_a_reviewer_or_the_open_policy(
        self, api, reviewers_api, user, settings
    ):
        assert self.move(reviewers_api, with_documents(user)).status_code == 200
        settings.REVIEW_POLICY = "open"
        application = with_documents(user)
        assert self.shown(api, application)["allowed"] is True
        assert self.move(api, application).status_code == 200


def test_document_upload_restarts_the_expiry_period(api, user):
    application = with_documents(user)
    Application.objects.filter(pk=application.pk).update(updated_at=timezone.now() - timedelta(days=29))
    send_file(api, application)
    application.refresh_from_db()
    assert timezone.now() - application.updated_at < timedelta(minutes=1)
