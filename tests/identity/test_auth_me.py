"""GET /v1/auth/me: who the caller is."""

import pytest
from django.contrib.auth.models import Group

from identity.access.scopes import SCOPES
from tests.api import ApiClient, assert_error, client_of
from tests.factories import UserFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
PATH = "/auth/me"


def test_it_shows_the_account(db):
    user = UserFactory(username="ada", email="ada@example.org", is_staff=True)
    user.groups.set(Group.objects.filter(name__in=["Support", "Reviewer"]))
    assert client_of(user).read(PATH).json() == {
        "id": user.pk,
        "user_id": str(user.pk),
        "username": "ada",
        "email": "ada@example.org",
        "is_staff": True,
        "groups": ["Reviewer", "Support"],
        "scopes": sorted(SCOPES),
    }


def test_it_shows_the_scopes_of_a_limited_key(user):
    key = issue(user, scopes=["webhooks", "offers:read"]).key
    assert ApiClient(api_key=key).read(PATH).json()["scopes"] == ["offers:read", "webhooks"]


def test_nobody_is_nobody(anonymous):
    assert_error(anonymous.read(PATH), 401, "E2001")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])
def test_other_methods_are_not_taken(api, method):
    response = api.call(method, PATH, {})
    assert_error(response, 405, "E4050")
    assert set(response.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


def test_it_costs_one_query_when_the_credential_is_known(api, settings, django_assert_num_queries):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    api.read(PATH)
    with django_assert_num_queries(1):
        api.read(PATH)
