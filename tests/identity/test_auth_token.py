"""Test log-in by user name and password, `GET /v1/auth/me`, and token revocation."""

import jwt
import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from identity.access import authentication, tokens
from identity.access.scopes import SCOPES
from tests.api import ApiClient, assert_error, client_of
from tests.factories import PASSWORD, UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.identity.support import move_clock, stop_clock
from tests.identity.test_log_in_limits import CountingHasher
from tests.second_factors import authenticator_of, code_of, recovery_codes_of, wrong_code

pytestmark = pytest.mark.django_db
PATH = "/auth/token"


@pytest.fixture
def hashed(settings, user):
    """Return a function that returns how many hashes were computed since the test began."""
    settings.PASSWORD_HASHERS = ["tests.identity.test_log_in_limits.CountingHasher"]
    user.set_password(PASSWORD)
    user.save()
    before = CountingHasher.count
    return lambda: CountingHasher.count - before


@pytest.fixture(autouse=True)
def _one_window(monkeypatch):
    """Stop the clock, so that all requests of a test fall into the same minute."""
    stop_clock(monkeypatch, "config.api.rate_limits", 1_800_000_010.0)


def log_in(client, username, password=PASSWORD):
    return client.send(PATH, {"username": username, "password": password})


def test_log_in_returns_working_access_and_refresh_tokens(anonymous, user):
    response = log_in(anonymous, user.username)
    assert (response.status_code, response.headers["Cache-Control"]) == (200, "no-store")
    body = response.json()
    claims = jwt.decode(body["access_token"], options={"verify_signature": False})
    assert set(body) == {
        "access_token", "token_type", "expires_in", "refresh_token", "refresh_expires_in", "scope",
    }  # fmt: skip
    assert (body["token_type"], body["expires_in"], body["refresh_expires_in"]) == ("Bearer", 900, 30 * 86_400)
    assert "offers:read" in body["scope"].split()
    assert "staff" not in claims
    staff = log_in(anonymous, UserFactory(is_staff=True).username).json()["access_token"]
    assert jwt.decode(staff, options={"verify_signature": False})["staff"] is True
    assert ApiClient(bearer=body["access_token"]).read("/auth/me").json()["id"] == user.pk
    assert anonymous.send("/auth/refresh", {"refresh_token": body["refresh_token"]}).status_code == 200


def test_wrong_password_unknown_user_and_disabled_user_return_the_same_log_in_response(anonymous, user, stranger):
    stranger.is_active = False
    stranger.save(update_fields=["is_active"])
    wrong = assert_error(log_in(anonymous, user.username, "wrong"), 401, "E2001")
    for name in (
        "nobody", stranger.username, "a" * 255, "ß" * 255, "'; DROP TABLE identity_user; --", "\u202e", "😀" * 100,
    ):  # fmt: skip
        assert assert_error(log_in(anonymous, name), 401, "E2001")["message"] == wrong["message"]


def test_ten_failed_log_ins_lock_a_user_name_until_the_next_quarter_hour(anonymous, user, stranger, monkeypatch):
    for _ in range(10):
        assert_error(log_in(anonymous, user.username, "wrong"), 401, "E2001")
    refused = log_in(anonymous, user.username)
    assert_error(refused, 429, "E6001")
    assert 1 <= int(refused.headers["Retry-After"]) <= 901
    assert refused.headers["RateLimit-Policy"] == '"login_failure";q=10;w=900'
    assert log_in(anonymous, stranger.username).status_code == 200
    stop_clock(monkeypatch, "config.api.rate_limits", 1_800_000_970.0)
    assert log_in(anonymous, user.username).status_code == 200


def test_password_is_accepted_in_every_unicode_normal_form(anonymous, user):
    for chosen, typed in (
        ("Stra\u00dfe caf\u00e9", "Stra\u00dfe cafe\u0301"), ("\uff21bcdefghij", "Abcdefghij"),
        ("\u212bngstr\u00f6m und", "\u00c5ngstro\u0308m und"), ("\ufb01rst ladder", "first ladder"),
        ("Vi\u1ec7t Nam 1975", "Vie\u0323\u0302t Nam 1975"), ("\u2460\u2461\u2462 mountains", "123 mountains"),
        ("\uac00\ub098 long enough", "\u1100\u1161\u1102\u1161 long enough"), ("no\u00a0break space", "no break space"),
        ("\u30d1\u30b9\u30ef\u30fc\u30c9 katakana", "\uff8a\uff9f\uff7d\uff9c\uff70\uff84\uff9e katakana"),
        ("\u1e9b\u0323 long enough", "\u1e69 long enough"), ("\u2126 ohm and more", "\u03a9 ohm and more"),
        ("\u0958 long enough", "\u0915\u093c long enough"),
    ):  # fmt: skip
        user.set_password(chosen)
        user.save()
        assert log_in(anonymous, user.username, typed).status_code == 200, typed
        assert log_in(anonymous, user.username, chosen).status_code == 200, chosen


def test_password_that_version_1_0_hashed_as_typed_is_accepted(anonymous, user):
    user.password = make_password("cafe\u0301 au lait")
    user.save()
    assert log_in(anonymous, user.username, "cafe\u0301 au lait").status_code == 200
    assert_error(log_in(anonymous, user.username, "caf\u00e9 au lait"), 401, "E2001")


def test_log_in_with_another_unicode_form_computes_the_same_number_of_hashes_for_unknown_users(anonymous, user, hashed):
    costs = []
    for username in (user.username, "nobody"):
        before = hashed()
        assert_error(log_in(anonymous, username, "cafe\u0301 noir"), 401, "E2001")
        costs.append(hashed() - before)
    assert costs[0] == costs[1]


def test_unusable_password_is_rejected_by_pages_commands_and_api():
    """Pages and commands use the same rules, and the API rejects passwords that are too long for the pages."""
    for password in ("short", "x" * 4_097, "xxxxxxxx\0yyyy", "e\u0301" * 5, "\ufdfa", "abcdefgh\ud800ij"):
        with pytest.raises(ValidationError):
            validate_password(password)


class TestSecondFactor:
    """`otp` is a code of the user's authenticator, and works once."""

    @pytest.fixture
    def device(self, user):
        return authenticator_of(user)

    def ask(self, client, user, otp, password=PASSWORD):
        return client.send(PATH, {"username": user.username, "password": password, "otp": otp})

    def methods(self, answer):
        """Return the authentication methods in the token's `amr` claim (RFC 8176)."""
        token = answer.json()["access_token"]
        return jwt.decode(token, options={"verify_signature": False})["amr"]

    def test_token_issued_after_a_one_time_code_lists_otp_as_authentication_method(self, anonymous, user, device):
        code = code_of()
        first = self.ask(anonymous, user, f"{code[:3]} {code[3:]}")
        assert self.methods(first) == ["pwd", "otp"]
        again = anonymous.send("/auth/refresh", {"refresh_token": first.json()["refresh_token"]})
        assert self.methods(again) == ["pwd", "otp"]

    @pytest.mark.parametrize("otp", [None, "wrong", "recovery code"])
    def test_wrong_or_missing_one_time_code_returns_the_response_of_a_wrong_password(
        self, anonymous, user, device, hashed, otp
    ):
        """The response, the hashes, and the statements equal those for an unknown name."""
        code = {None: None, "wrong": wrong_code(), "recovery code": "00000-00000"}[otp]
        outcomes = []
        for username, password in ((user.username, PASSWORD), (user.username, "wrong"), ("nobody", PASSWORD)):
            before = hashed()
            with CaptureQueriesContext(connection) as statements:
                response = anonymous.send(PATH, {"username": username, "password": password, "otp": code})
            error = assert_error(response, 401, "E2001")
            outcomes.append(({**error, "request_id": ""}, hashed() - before, len(statements)))
        assert outcomes[0] == outcomes[1] == outcomes[2]
        assert outcomes[0][1] == 1

    def test_authenticator_code_can_be_used_only_once(self, anonymous, user, stranger, device):
        code = code_of()
        assert_error(self.ask(anonymous, user, code, password="wrong"), 401, "E2001")
        assert self.ask(anonymous, user, code).status_code == 200, "the wrong password did not use the code"
        assert_error(self.ask(anonymous, user, code), 401, "E2001")
        assert_error(self.ask(anonymous, stranger, "123456"), 401, "E2001")

    @pytest.mark.parametrize("kind", ["code of the app", "recovery code"])
    def test_wrong_one_time_codes_count_toward_the_wrong_password_limit(self, anonymous, user, device, kind):
        recovery_code = recovery_codes_of(user)[0]
        wrong, right = (wrong_code(), code_of()) if kind == "code of the app" else ("00000-00000", recovery_code)
        answers = [self.ask(anonymous, user, wrong).status_code for _ in range(11)]
        assert answers == [401] * 10 + [429]
        assert self.ask(anonymous, user, right).status_code == 429

    @pytest.mark.parametrize(("steps", "status"), [(-1, 200), (1, 200), (-10, 401)])
    def test_authenticator_code_of_an_adjacent_time_step_is_accepted(self, anonymous, user, device, steps, status):
        assert self.ask(anonymous, user, code_of(steps=steps)).status_code == status

    def test_recovery_code_can_be_used_only_once(self, anonymous, user, device):
        for spelling, code in zip(("{}{}", "{} {}", "{}-{}"), recovery_codes_of(user)[3:], strict=False):
            response = self.ask(anonymous, user, spelling.format(*code.lower().split("-")))
            assert self.methods(response) == ["pwd", "otp"], spelling
            assert_error(self.ask(anonymous, user, code), 401, "E2001")

    def test_log_in_with_a_malformed_one_time_code_returns_400(self, anonymous, user, device):
        for otp in ("", "12345", "1234567", "abcdef", "UUUUU-UUUUU", "\uff11" * 6):
            assert_error(self.ask(anonymous, user, otp), 400, "E1001")

    def test_removing_an_authenticator_revokes_tokens_issued_with_its_codes(self, anonymous, user, device):
        with_it = self.ask(anonymous, user, code_of()).json()
        device.delete()
        authentication.forget_credentials()
        assert_error(ApiClient(bearer=with_it["access_token"]).read("/auth/me"), 401, "E2002")
        assert_error(anonymous.send("/auth/refresh", {"refresh_token": with_it["refresh_token"]}), 401, "E2002")


ME = "/auth/me"


def test_auth_me_returns_the_authenticated_account(db):
    user = UserFactory(username="ada", email="ada@example.org", is_staff=True)
    user.groups.set(Group.objects.filter(name__in=["Support", "Reviewer"]))
    assert client_of(user).read(ME).json() == {
        "id": user.pk, "user_id": str(user.pk), "username": "ada", "email": "ada@example.org", "is_staff": True,
        "groups": ["Reviewer", "Support"], "scopes": sorted(SCOPES),
    }  # fmt: skip


def test_auth_me_returns_only_id_and_scopes_to_an_app(db):
    user = UserFactory(username="ada", email="ada@example.org", is_staff=True)
    user.groups.set(Group.objects.filter(name="Reviewer"))
    client, secret = make_client()
    token = exchange(code_for(user, client), client, secret).json()["access_token"]
    assert ApiClient(bearer=token).read(ME).json() == {
        "id": user.pk, "user_id": str(user.pk), "scopes": ["offers:read"],
    }  # fmt: skip


REVOKE = "/auth/revoke"


def test_revocation_of_a_refresh_token_ends_the_log_in_within_5_seconds(anonymous, user, monkeypatch):
    pair, other = tokens.start_family(user=user, now=timezone.now()), client_of(user)
    api = ApiClient(bearer=pair.access_token)
    assert api.read("/auth/me").status_code == 200
    for _ in range(2):
        response = anonymous.send(REVOKE, {"refresh_token": pair.refresh_token})
        assert (response.status_code, response.json()) == (200, {})
    for unknown in ("unknown", "rt_" + "x" * 43):
        assert anonymous.send(REVOKE, {"refresh_token": unknown}).json() == {}
    assert_error(anonymous.send("/auth/refresh", {"refresh_token": pair.refresh_token}), 401, "E2002")
    move_clock(monkeypatch, "identity.access.authentication", 5)
    assert_error(api.read("/auth/me"), 401, "E2002")
    assert other.read("/auth/me").status_code == 200, "another log-in"
