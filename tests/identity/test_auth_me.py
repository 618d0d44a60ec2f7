"""GET /v1/auth/me: who the caller is."""

import pytest
from django.contrib.auth.models import Group

from identity.access.scopes import SCOPES
from tests.api import ApiClient, client_of
from tests.factories import UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client

pytestmark = pytest.mark.django_db
PATH = "/auth/me"


def test_it_shows_the_account(db):
    user = UserFactory(username="ada", email="ada@example.org", is_staff=True)
    user.groups.set(Group.objects.filter(name__in=["Support", "Reviewer"]))
    assert client_of(user).read(PATH).json() == {
        "id": user.pk, "user_id": str(user.pk), "username": "ada", "email": "ada@example.org", "is_staff": True,
        "groups": ["Reviewer", "Support"], "scopes": sorted(SCOPES),
    }  # fmt: skip


def test_an_app_gets_the_id_and_its_scopes_only(db):
    user = UserFactory(username="ada", email="ada@example.org", is_staff=True)
    user.groups.set(Group.objects.filter(name="Reviewer"))
    client, secret = make_client()
    token = exchange(code_for(user, client), client, secret).json()["access_token"]
    assert ApiClient(bearer=token).read(PATH).json() == {
        "id": user.pk, "user_id": str(user.pk), "scopes": ["offers:read"],
    }  # fmt: skip
