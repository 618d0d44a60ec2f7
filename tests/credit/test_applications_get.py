"""GET /v1/applications/{id}: one's own, or one that one reviews."""

import uuid

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from credit.applications import load_visible
from credit.errors import ApplicationNotFound
from credit.models import Provider, ProviderMember
from tests.api import ApiClient, assert_error, client_of
from tests.factories import ApplicationFactory, ProviderFactory, UserFactory
from tests.identity.support import issue, signed_call

pytestmark = pytest.mark.django_db
PATH = "/applications"
PLACES = ["", "/history", "/transitions"]


@pytest.fixture
def application(user):
    """An application of `user`, submitted."""
    return ApplicationFactory(consumer=user, status="submitted", application_data={"a": [1, None]}, notes="n")


def test_it_shows_ones_own(api, application, user):
    shown = api.read(f"{PATH}/{application.id}").json()
    assert shown["id"] == str(application.id)
    assert shown["consumer_id"] == str(user.pk)
    assert (shown["application_data"], shown["notes"], shown["status"]) == ({"a": [1, None]}, "n", "submitted")


@pytest.mark.parametrize("place", PLACES)
def test_nobody_and_strangers_see_nothing(anonymous, stranger_api, application, place):
    assert_error(anonymous.read(f"{PATH}/{application.id}{place}"), 401, "E2001")
    assert_error(stranger_api.read(f"{PATH}/{application.id}{place}"), 404, "E4002")


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_id_looks_like_a_strangers(api, place):
    assert_error(api.read(f"{PATH}/{uuid.uuid4()}{place}"), 404, "E4002")


@pytest.mark.parametrize(
    "identifier",
    ["not-a-uuid", "%00", "x" * 4096, "0", "-1", "%F0%9F%98%80", "null", "{}", "..%5c..", "%0a", "%25", "*"],
)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_id_is_not_found(api, identifier, place):
    assert_error(api.read(f"{PATH}/{identifier}{place}"), 404, "E4002")


@pytest.mark.parametrize("identifier", ["..%2f", "..%2f..%2fv1%2fhealth", "a/b/c"])
def test_a_slash_in_an_id_is_another_address(api, identifier):
    response = api.read(f"{PATH}/{identifier}")
    assert response.status_code == 404
    assert response.json()["code"] in {"E4001", "E4002"}


def test_only_one_spelling_of_an_id_counts(api, application):
    spelling = str(application.id)
    for other in (
        f"{{{spelling}}}", f"urn:uuid:{spelling}", spelling.replace("-", ""), spelling.upper(), f"%20{spelling}",
        f"{spelling}%20", f"{spelling}%0a", f"{spelling}%00", spelling.replace("-", "%2D", 1) + "x",
    ):  # fmt: skip
        assert_error(api.read(f"{PATH}/{other}"), 404, "E4002")


class TestReviewers:
    def test_a_holder_of_the_permission_reads_what_has_left_draft(self, application, user):
        reviewer = UserFactory()
        reviewer.groups.add(Group.objects.get(name="Reviewer"))
        api = client_of(reviewer)
        for place in PLACES:
            assert api.read(f"{PATH}/{application.id}{place}").status_code == 200
        draft = ApplicationFactory(consumer=user)
        assert_error(api.read(f"{PATH}/{draft.id}"), 404, "E4002")

    def test_a_member_of_the_provider_reads_it(self, application):
        provider = ProviderFactory(id=str(application.provider_id))
        member = UserFactory()
        ProviderMember.objects.create(provider=provider, user=member)
        assert client_of(member).read(f"{PATH}/{application.id}").status_code == 200

    def test_one_who_is_no_longer_active_or_a_superuser_is_told_apart(self, application):
        superuser = UserFactory(is_superuser=True)
        assert client_of(superuser).read(f"{PATH}/{application.id}").status_code == 200
        former = UserFactory(is_superuser=True, is_active=False)
        with pytest.raises(ApplicationNotFound):
            load_visible(str(application.id), former)

    def test_a_member_of_another_provider_does_not(self, application):
        ProviderFactory(id=str(application.provider_id))
        member = UserFactory()
        ProviderMember.objects.create(provider=ProviderFactory(), user=member)
        assert_error(client_of(member).read(f"{PATH}/{application.id}"), 404, "E4002")

    def test_support_staff_do_not_read_over_the_api(self, application):
        support = UserFactory(is_staff=True)
        support.groups.add(Group.objects.get(name="Support"))
        assert_error(client_of(support).read(f"{PATH}/{application.id}"), 404, "E4002")

    def test_no_provider_means_no_members(self, application, stranger_api):
        assert not Provider.objects.exists()
        assert_error(stranger_api.read(f"{PATH}/{application.id}"), 404, "E4002")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("status", ["draft", "submitted"])
def test_an_application_of_somebody_elses_is_as_much_work_as_none(user, no_rate_limits, place, status):
    ProviderMember.objects.create(provider=ProviderFactory(), user=UserFactory())
    foreign = ApplicationFactory(consumer=user, status=status)

    def statements(identifier):
        """The statements of a request by somebody who was never seen before."""
        client = client_of(UserFactory())
        with CaptureQueriesContext(connection) as captured:
            assert_error(client.read(f"{PATH}/{identifier}{place}"), 404, "E4002")
        return [" ".join(query["sql"].split()[:3]) for query in captured]

    statements(uuid.uuid4())  # whatever is read once in a process is read
    assert statements(foreign.pk) == statements(uuid.uuid4())


class TestQueries:
    @pytest.fixture(autouse=True)
    def _unlimited(self, settings):
        settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)

    def test_one_by_token_costs_one(self, api, application, django_assert_num_queries):
        api.read(f"{PATH}/{application.id}")
        with django_assert_num_queries(1):
            assert api.read(f"{PATH}/{application.id}").status_code == 200

    def test_one_by_key_costs_one(self, user, application, django_assert_num_queries):
        api = ApiClient(api_key=issue(user).key)
        api.read(f"{PATH}/{application.id}")
        with django_assert_num_queries(1):
            assert api.read(f"{PATH}/{application.id}").status_code == 200

    def test_one_signed_costs_one(self, user, application, django_assert_num_queries):
        issued = issue(user)
        signed_call(issued, "GET", f"/v1{PATH}/{application.id}")
        with django_assert_num_queries(1):
            assert signed_call(issued, "GET", f"/v1{PATH}/{application.id}").status_code == 200

    def test_a_token_not_seen_before_costs_two_more(self, user, application, django_assert_num_queries):
        from tests.api import bearer_of

        client_of(user).read("/auth/me")
        token = bearer_of(user)
        with django_assert_num_queries(2):
            assert ApiClient(bearer=token).read(f"{PATH}/{application.id}").status_code == 200
