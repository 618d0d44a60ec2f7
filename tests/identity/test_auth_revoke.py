"""POST /v1/auth/revoke: ending a log-in; an unknown token is no error."""

import pytest
from django.utils import timezone

from identity.access import tokens
from tests.api import ApiClient, assert_error, client_of
from tests.identity.support import move_clock

pytestmark = pytest.mark.django_db
PATH = "/auth/revoke"


def test_it_ends_the_log_in_within_five_seconds(anonymous, user, monkeypatch):
    pair, other = tokens.start_family(user=user, now=timezone.now()), client_of(user)
    api = ApiClient(bearer=pair.access_token)
    assert api.read("/auth/me").status_code == 200
    for _ in range(2):
        response = anonymous.send(PATH, {"refresh_token": pair.refresh_token})
        assert (response.status_code, response.json()) == (200, {})
    assert_error(anonymous.send("/auth/refresh", {"refresh_token": pair.refresh_token}), 401, "E2002")
    move_clock(monkeypatch, "identity.access.authentication", 5)
    assert_error(api.read("/auth/me"), 401, "E2002")
    assert other.read("/auth/me").status_code == 200, "another log-in"


@pytest.mark.parametrize("text", ["unknown", "rt_" + "x" * 43])
def test_an_unknown_token_is_accepted(anonymous, text):
    response = anonymous.send(PATH, {"refresh_token": text})
    assert (response.status_code, response.json()) == (200, {})
