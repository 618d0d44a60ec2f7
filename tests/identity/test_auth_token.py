"""POST /v1/auth/token: a user name and a password for tokens."""

import pytest
from django.contrib.auth.models import Group

from tests.api import ApiClient, assert_error
from tests.factories import PASSWORD, UserFactory
from tests.identity.support import stop_clock

pytestmark = pytest.mark.django_db
PATH = "/auth/token"


@pytest.fixture(autouse=True)
def _one_window(monkeypatch):
    """Stay inside one minute, wherever the clock is."""
    stop_clock(monkeypatch, "config.api.throttling", 1_800_000_010.0)


def log_in(client, username, password=PASSWORD):
    """Ask for tokens."""
    return client.send(PATH, {"username": username, "password": password})


def test_it_gives_tokens_that_work(anonymous, user):
    response = log_in(anonymous, user.username)
    assert response.status_code == 200
    body = response.json()
    assert set(body) == {
        "access_token", "token_type", "expires_in", "refresh_token", "refresh_expires_in", "scope",
    }  # fmt: skip
    assert (body["token_type"], body["expires_in"], body["refresh_expires_in"]) == ("Bearer", 900, 30 * 86_400)
    assert "offers:read" in body["scope"].split()
    assert ApiClient(bearer=body["access_token"]).read("/auth/me").json()["id"] == user.pk
    assert anonymous.send("/auth/refresh", {"refresh_token": body["refresh_token"]}).status_code == 200


def test_the_answer_is_kept_by_no_cache(anonymous, user):
    assert log_in(anonymous, user.username).headers["Cache-Control"] == "no-store"


def test_a_staff_members_token_says_so(anonymous, db):
    import jwt

    staff = UserFactory(is_staff=True)
    token = log_in(anonymous, staff.username).json()["access_token"]
    assert jwt.decode(token, options={"verify_signature": False})["staff"] is True


def test_a_wrong_password_and_an_unknown_user_look_alike(anonymous, user):
    wrong = assert_error(log_in(anonymous, user.username, "wrong"), 401, "E2001")
    unknown = assert_error(log_in(anonymous, "nobody"), 401, "E2001")
    assert wrong["message"] == unknown["message"]


def test_a_disabled_user_is_refused(anonymous, user):
    user.is_active = False
    user.save(update_fields=["is_active"])
    assert_error(log_in(anonymous, user.username), 401, "E2001")


@pytest.mark.parametrize(
    "body",
    [
        {}, {"username": "a"}, {"password": "a"}, {"username": 5, "password": "a"}, {"username": "a", "password": None},
        {"username": "", "password": "a"}, {"username": "a", "password": ""}, {"username": "a" * 256, "password": "a"},
        {"username": "a", "password": "a" * 4097}, {"username": ["a"], "password": "a"}, [], "x",
    ],
)  # fmt: skip
def test_a_body_of_another_shape_is_refused(anonymous, body):
    assert anonymous.send(PATH, body).status_code == 400


@pytest.mark.parametrize("username", ["a" * 255, "ß" * 255, "'; DROP TABLE identity_user; --", "\u202e", "😀" * 100])
def test_an_odd_user_name_is_only_unknown(anonymous, username):
    assert_error(log_in(anonymous, username), 401, "E2001")


def test_the_eleventh_failure_for_a_name_has_to_wait(anonymous, user):
    for _ in range(10):
        assert_error(log_in(anonymous, user.username, "wrong"), 401, "E2001")
    refused = log_in(anonymous, user.username, "wrong")
    assert_error(refused, 429, "E6001")
    assert 1 <= int(refused.headers["Retry-After"]) <= 61
    assert refused.headers["RateLimit-Policy"] == '"token_failure";q=10;w=60'
    # The right password must wait too, or the limit would tell which guess was right.
    assert_error(log_in(anonymous, user.username), 429, "E6001")
    assert_error(log_in(anonymous, user.username.upper(), "wrong"), 429, "E6001")


def test_other_names_do_not_wait(anonymous, user, stranger):
    for _ in range(11):
        log_in(anonymous, user.username, "wrong")
    assert log_in(anonymous, stranger.username).status_code == 200


def test_the_next_minute_starts_anew(anonymous, user, monkeypatch):
    for _ in range(11):
        log_in(anonymous, user.username, "wrong")
    stop_clock(monkeypatch, "config.api.throttling", 1_800_000_070.0)
    assert log_in(anonymous, user.username).status_code == 200


def test_successes_are_not_failures(anonymous, user):
    assert [log_in(anonymous, user.username).status_code for _ in range(12)] == [200] * 12


def test_an_address_may_ask_sixty_times_a_minute(anonymous, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": 5}
    answers = [log_in(anonymous, f"nobody{number}").status_code for number in range(7)]
    assert answers == [401] * 5 + [429] * 2


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_other_methods_are_not_taken(anonymous, method):
    response = anonymous.call(method, PATH)
    assert_error(response, 405, "E4050")
    assert "POST" in response.headers["Allow"]


def test_a_group_gives_no_scope(anonymous, user):
    user.groups.add(Group.objects.get(name="Reviewer"))
    token = log_in(anonymous, user.username).json()["access_token"]
    assert ApiClient(bearer=token).read("/auth/me").json()["groups"] == ["Reviewer"]
