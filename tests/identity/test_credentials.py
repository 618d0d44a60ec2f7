"""Test the precedence of credentials, and the error for each kind of invalid credential."""

from datetime import timedelta

import pytest
from django.utils import timezone

from identity.access import authentication
from identity.access.authentication import forget_credentials
from identity.access.keys import _checksum, revoke_api_key, rotate_api_key
from identity.models import ApiKey
from tests.api import ApiClient, assert_error, bearer_of
from tests.identity.support import issue, move_clock, signed_call

pytestmark = pytest.mark.django_db


def with_key(key):
    return ApiClient(api_key=key).read("/auth/me")


def with_authorization(header):
    return ApiClient().read("/auth/me", Authorization=header)


def test_only_a_well_formed_authorization_header_is_accepted(user):
    for scheme in ("bEARER ", "Bearer  "):
        assert with_authorization(f"{scheme}{bearer_of(user)}").status_code == 200
    for header in (
        "Bearer", "Bearer ", "Bearer a b", "Bearer a b c", "Bearer  two-spaces", "Bearer  a b", "Bearer t\xf6ken",
        "Bearer \udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
    ):  # fmt: skip
        assert_error(with_authorization(header), 401, "E2002")
    for header in (None, "Basic dXNlcjpwYXNz", "Digest x", "", "Token abc"):
        assert_error(with_authorization(header), 401, "E2001")


def test_request_with_a_repeated_credential_in_one_header_is_rejected(user):
    token, key = bearer_of(user), issue(user).key
    for between in (",", ", "):
        assert_error(with_authorization(f"Bearer {token}{between}Bearer {token}"), 400, "E1015")
        assert_error(with_key(f"{key}{between}{key}"), 400, "E1015")


def test_a_token_and_a_key_of_the_same_account_are_accepted_together(user, stranger):
    def with_both(key):
        return ApiClient(bearer=bearer_of(user), api_key=key).read("/auth/me")

    assert with_both(issue(user).key).json()["id"] == user.pk
    assert_error(with_both(issue(stranger).key), 400, "E1015")
    assert_error(with_both("ck_test_x"), 401, "E2002")


def test_api_key_with_an_unknown_id_a_wrong_secret_or_a_wrong_checksum_is_rejected(user):
    key = issue(user).key
    forged = key[:21] + "A" * 32
    for text in (
        key[:-1] + ("A" if key[-1] != "A" else "B"), forged + _checksum(forged), "x", "ck_test_", "k" * 10_000,
        "ck_test_" + "a" * 12 + "_" + "b" * 38, "\xff", " ",
    ):  # fmt: skip
        assert_error(with_key(text), 401, "E2002")


@pytest.mark.parametrize(("here", "there"), [("production", "development"), ("development", "production")])
def test_api_key_of_the_other_environment_is_rejected_with_an_error_that_omits_the_key(
    user, settings, here, there, no_rate_limits, django_assert_num_queries
):
    settings.API_KEY_PREFIX = settings.API_KEY_PREFIXES[there]
    issued = issue(user)  # The record is in this database.
    settings.API_KEY_PREFIX = settings.API_KEY_PREFIXES[here]
    for response in (with_key(issued.key), signed_call(issued, "GET", "/v1/auth/me")):
        message = assert_error(response, 401, "E2002")["message"]
        assert message.endswith(f"Send a key that begins with {settings.API_KEY_PREFIXES[here]}.")
        assert f"({settings.API_KEY_PREFIXES[there]}…)" in message
        assert issued.record.pk not in message
    with django_assert_num_queries(0):
        assert_error(with_key(f"{settings.API_KEY_PREFIXES[there]}x"), 401, "E2002")


def test_api_key_begins_with_the_prefix_of_its_environment(user, settings):
    assert issue(user).key.startswith("ck_test_")
    settings.API_KEY_PREFIX = "ck_live_"
    issued = issue(user)
    assert issued.key.startswith(f"ck_live_{issued.record.pk}_")
    assert str(issued.record).startswith(f"ck_live_{issued.record.pk}")
    assert with_key(issued.key).json()["id"] == user.pk


@pytest.mark.parametrize("end", ["revoked", "revoked elsewhere", "expired", "owner disabled"])
def test_revoked_expired_or_disabled_api_key_is_rejected(user, monkeypatch, end):
    issued = issue(user)
    row, earlier = ApiKey.objects.filter(pk=issued.record.pk), timezone.now() - timedelta(days=1)
    if end != "expired":
        assert with_key(issued.key).status_code == 200
    if end == "revoked":
        revoke_api_key(issued.record, now=timezone.now())
    elif end == "revoked elsewhere":
        row.update(revoked_at=timezone.now())
        move_clock(monkeypatch, "identity.access.authentication", 5)
    elif end == "expired":
        row.update(created_at=earlier, expires_at=earlier + timedelta(hours=1))
    else:
        user.is_active = False
        user.save(update_fields=["is_active"])
    assert_error(with_key(issued.key), 401, "E2009")


def test_rotated_api_key_works_during_its_grace_period(user):
    for days in (7, 0):
        old = issue(user)
        new = rotate_api_key(old.record, now=timezone.now(), grace=timedelta(days=days))
        assert (with_key(old.key).status_code, with_key(new.key).status_code) == (200 if days else 401, 200)


def test_credential_cache_has_a_limited_size(user, monkeypatch):
    monkeypatch.setattr(authentication, "_REMEMBERED_MAX", 3)
    for _ in range(5):
        assert ApiClient(bearer=bearer_of(user)).read("/auth/me").status_code == 200
        assert len(authentication._remembered) <= 3


def test_rejected_credentials_count_toward_the_rate_limit_of_the_address(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous": 5}
    answers = [with_key(f"ck_test_{number}").status_code for number in range(7)]
    assert answers == [401] * 5 + [429] * 2


def test_api_key_with_null_scopes_is_unrestricted_and_empty_scopes_permit_nothing(user):
    unrestricted, empty = (ApiClient(api_key=issue(user, scopes=scopes).key) for scopes in (None, []))
    for path in ("/applications", "/provider-offers?provider_id=7"):
        assert unrestricted.read(path).status_code == 200
    assert empty.read("/auth/me").status_code == 200
    assert assert_error(empty.read("/applications"), 403, "E2005")["details"]["required"]
    response = empty.send("/provider-offers", raw=b"not json")
    assert_error(response, 403, "E2005")  # The scope is checked before the body.


def test_every_response_to_an_expiring_api_key_contains_the_expiry(user):
    ends = timezone.now() + timedelta(days=13)
    api = ApiClient(api_key=issue(user, expires_at=ends).key)
    for path in ("/auth/me", "/applications", "/applications/none"):
        assert api.read(path).headers["X-Key-Expires"].startswith(ends.strftime("%Y-%m-%dT%H:%M:%S"))
    later = with_key(issue(user, expires_at=timezone.now() + timedelta(days=15)).key)
    assert "X-Key-Expires" not in later.headers


def test_last_use_of_an_api_key_is_recorded_at_most_once_a_minute(user, django_assert_num_queries):
    issued = issue(user)
    with_key(issued.key)
    first = ApiKey.objects.get(pk=issued.record.pk).last_used_at
    assert first is not None
    forget_credentials()
    with_key(issued.key)
    assert ApiKey.objects.get(pk=issued.record.pk).last_used_at == first
    ApiKey.objects.filter(pk=issued.record.pk).update(last_used_at=first - timedelta(seconds=61))
    forget_credentials()
    with_key(issued.key)
    assert ApiKey.objects.get(pk=issued.record.pk).last_used_at > first
