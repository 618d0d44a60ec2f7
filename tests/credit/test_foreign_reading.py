"""Test that reading another person's application requires a second factor and is logged."""

import pytest
from django.utils import timezone

from config.core.casework import DataAccess
from credit.models import ProviderMember, RequestedDocument
from identity.access import tokens
from tests.api import ApiClient, assert_error, client_of
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory, ProviderFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db

# These endpoints read an application. The last two have no data in these tests.
PLACES = [
    "", "/history", "/transitions", "/acceptance", "/documents", "/documents/{document}/files", "/proof", "/score",
    "/decision-bundle",
]  # fmt: skip


@pytest.fixture
def application(user):
    """Return an application of `user` to provider 700 in `pending_documents`."""
    created = ApplicationFactory(consumer=user, status="pending_documents", submitted_at=timezone.now())
    RequestedDocument.objects.create(application=created, name="Payslip", changed_by=user, requested_at=timezone.now())
    return created


@pytest.fixture
def reviewer(db):
    """Return a reviewer who is staff of the platform."""
    return make_reviewer(is_staff=True)


def read(client, application, place):
    document = application.requested_documents.get()
    return client.read(f"/applications/{application.pk}{place.format(document=document.pk)}")


def rows():
    return [(row.action, row.viewer_id, row.subject_id, row.record_id) for row in DataAccess.objects.order_by("id")]


def read_all(client, application):
    return {place: read(client, application, place) for place in PLACES}


class TestReadOfAnApplication:
    def test_application_read_is_logged_once_for_reviewers_and_members_and_never_for_applicants(
        self, api, application, reviewer, member
    ):
        own = read_all(api, application)
        assert rows() == []
        for account in (reviewer, member):
            for place in PLACES:
                before = len(rows())
                answer = read(client_of(account), application, place)
                assert account == member or answer.status_code == own[place].status_code, place
                entry = ("page", account.pk, application.consumer_id, str(application.pk))
                assert answer.status_code != 200 or rows()[before:] == [entry], place

    def test_staff_and_lender_members_without_a_second_factor_cannot_read_an_application(
        self, api, application, reviewer, member, settings
    ):
        settings.BACKOFFICE_SECOND_FACTOR = True
        for account in (reviewer, member):
            for client in (client_of(account), ApiClient(api_key=issue(account).key)):
                for answer in read_all(client, application).values():
                    assert_error(answer, 403, "E2012")
        assert rows() == []
        pair = tokens.start_family(user=reviewer, now=timezone.now(), second_factor=True)
        own = {place: answer.status_code for place, answer in read_all(api, application).items()}
        seen = read_all(ApiClient(bearer=pair.access_token), application)
        assert {place: answer.status_code for place, answer in seen.items()} == own
        key = issue(member, second_factor=True).key
        seen = read_all(ApiClient(api_key=key), application)
        assert 403 not in {answer.status_code for answer in seen.values()}

    def test_applicant_can_read_their_application_without_second_factor_or_log_entry(
        self, application, user, settings, stranger_api
    ):
        settings.BACKOFFICE_SECOND_FACTOR = True
        user.is_staff = True
        user.save()
        assert 403 not in {answer.status_code for answer in read_all(client_of(user), application).values()}
        assert rows() == []
        for answer in read_all(stranger_api, application).values():
            assert_error(answer, 404, "E4002")


def test_reading_a_nonempty_page_of_the_lender_inbox_is_logged(application, member):
    assert client_of(member).read("/providers/700/applications?status=approved").json()["total"] == 0
    assert rows() == []
    assert client_of(member).read("/providers/700/applications?status=pending_documents").json()["total"] == 1
    row = DataAccess.objects.get()
    assert (row.action, row.viewer, row.subject, row.kind) == ("list", member, None, "credit.application")
    assert row.details == {"provider_id": "700", "query": "status=pending_documents", "rows": 1}


def test_staff_without_a_second_factor_cannot_read_the_lender_inbox(application, reviewer, settings):
    ProviderMember.objects.create(provider=ProviderFactory(id="700"), user=reviewer)
    settings.BACKOFFICE_SECOND_FACTOR = True
    assert_error(client_of(reviewer).read("/providers/700/applications"), 403, "E2012")
    pair = tokens.start_family(user=reviewer, now=timezone.now(), second_factor=True)
    assert ApiClient(bearer=pair.access_token).read("/providers/700/applications").json()["total"] == 1


def test_staff_need_a_second_factor_to_read_applications_of_other_users_under_the_open_policy(
    application, reviewer, settings
):
    settings.BACKOFFICE_SECOND_FACTOR, settings.REVIEW_POLICY = True, "open"
    move = {"status": "under_review", "updated_by": "me"}
    assert_error(client_of(reviewer).replace(f"/applications/{application.pk}/status", move), 403, "E2012")
