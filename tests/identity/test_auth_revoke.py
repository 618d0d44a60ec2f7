"""POST /v1/auth/revoke: ending a log-in; an unknown token is no error."""

import pytest
from django.utils import timezone

from identity.access import tokens
from tests.api import ApiClient, assert_error
from tests.identity.support import move_clock

pytestmark = pytest.mark.django_db
PATH = "/auth/revoke"


def test_it_ends_the_log_in_within_five_seconds(anonymous, user, monkeypatch):
    pair = tokens.start_family(user=user, now=timezone.now())
    api = ApiClient(bearer=pair.access_token)
    assert api.read("/auth/me").status_code == 200
    response = anonymous.send(PATH, {"refresh_token": pair.refresh_token})
    assert (response.status_code, response.json()) == (200, {})
    assert_error(anonymous.send("/auth/refresh", {"refresh_token": pair.refresh_token}), 401, "E2002")
    move_clock(monkeypatch, "identity.access.authentication", 5)
    assert_error(api.read("/auth/me"), 401, "E2002")


def test_it_leaves_other_log_ins_alone(anonymous, user, api):
    pair = tokens.start_family(user=user, now=timezone.now())
    anonymous.send(PATH, {"refresh_token": pair.refresh_token})
    assert api.read("/auth/me").status_code == 200


def test_twice_is_no_error(anonymous, user):
    pair = tokens.start_family(user=user, now=timezone.now())
    answers = [anonymous.send(PATH, {"refresh_token": pair.refresh_token}) for _ in range(2)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {})] * 2


@pytest.mark.parametrize("text", ["unknown", "rt_" + "x" * 43])
def test_an_unknown_token_is_no_error(anonymous, text):
    response = anonymous.send(PATH, {"refresh_token": text})
    assert (response.status_code, response.json()) == (200, {})
