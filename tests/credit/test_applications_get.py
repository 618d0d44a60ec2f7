"""Test GET /v1/applications/{id} for applicants, reviewers, and members of a lender."""

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.applications.services import load_visible
from credit.core.errors import ApplicationNotFound
from credit.models import ProviderMember
from tests.api import ApiClient, assert_error, bearer_of, client_of
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory, ProviderFactory, UserFactory
from tests.identity.support import issue, signed_call

pytestmark = pytest.mark.django_db
PATH = "/applications"
PLACES = ["", "/history", "/transitions"]


@pytest.fixture
def application(user):
    """Return a submitted application of `user`."""
    return ApplicationFactory(consumer=user, status="submitted", application_data={"a": [1, None]}, notes="n")


@pytest.mark.parametrize("identifier", ["..%2f", "..%2f..%2fv1%2fhealth", "a/b/c"])
def test_application_id_with_a_slash_returns_404(api, identifier):
    response = api.read(f"{PATH}/{identifier}")
    assert response.status_code == 404
    assert response.json()["code"] in {"E4001", "E4002"}


class TestReviewers:
    def test_reviewer_can_read_applications_except_drafts(self, application, user):
        reviewer = make_reviewer()
        api = client_of(reviewer)
        for place in PLACES:
            assert api.read(f"{PATH}/{application.id}{place}").status_code == 200
        draft = ApplicationFactory(consumer=user)
        assert_error(api.read(f"{PATH}/{draft.id}"), 404, "E4002")

    @pytest.mark.parametrize("status", ["withdrawn", "expired"])
    def test_draft_that_ended_without_a_submission_is_hidden_from_reviewers(self, api, user, status):
        ended = ApplicationFactory(consumer=user, status=status, initial_status="draft")
        assert api.read(f"{PATH}/{ended.id}").status_code == 200
        assert_error(client_of(make_reviewer()).read(f"{PATH}/{ended.id}"), 404, "E4002")
        submitted = ApplicationFactory(
            consumer=user, status=status, initial_status="draft", submitted_at=timezone.now()
        )
        assert client_of(make_reviewer()).read(f"{PATH}/{submitted.id}").status_code == 200

    def test_only_members_of_the_lender_can_read_an_application(self, application):
        provider = ProviderFactory(id=str(application.provider_id))
        member, foreign, support = UserFactory(), UserFactory(), UserFactory(is_staff=True)
        ProviderMember.objects.create(provider=provider, user=member)
        ProviderMember.objects.create(provider=ProviderFactory(), user=foreign)
        support.groups.add(Group.objects.get(name="Support"))
        assert client_of(member).read(f"{PATH}/{application.id}").status_code == 200
        for account in (foreign, support):
            assert_error(client_of(account).read(f"{PATH}/{application.id}"), 404, "E4002")

    def test_only_an_active_superuser_can_read_any_application(self, application):
        superuser = UserFactory(is_superuser=True)
        assert client_of(superuser).read(f"{PATH}/{application.id}").status_code == 200
        former = UserFactory(is_superuser=True, is_active=False)
        with pytest.raises(ApplicationNotFound):
            load_visible(str(application.id), Actor(former, "jwt:of-before"))


@pytest.mark.usefixtures("no_rate_limits")
class TestQueries:
    def test_repeated_signed_read_of_an_application_executes_one_sql_statement(
        self, user, application, django_assert_num_queries
    ):
        issued = issue(user)
        signed_call(issued, "GET", f"/v1{PATH}/{application.id}")
        with django_assert_num_queries(1):
            assert signed_call(issued, "GET", f"/v1{PATH}/{application.id}").status_code == 200

    def test_first_read_of_an_application_with_a_token_executes_two_sql_statements(
        self, user, application, django_assert_num_queries
    ):
        client_of(user).read("/auth/me")
        token = bearer_of(user)
        with django_assert_num_queries(2):
            assert ApiClient(bearer=token).read(f"{PATH}/{application.id}").status_code == 200
