"""Test that a refresh token works once, that reuse ends the log-in, and that retries require a key."""

from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.utils import timezone

from config.api.models import IdempotencyRecord
from identity.access import tokens
from identity.access.authentication import forget_credentials
from identity.models import RefreshToken, TokenFamily
from tests.api import ApiClient, assert_error
from tests.factories import UserFactory
from tests.races import run_concurrently
from tests.second_factors import authenticator_of

PATH = "/auth/refresh"
KEY = "0192b3c4-d5e6-7f80-9a1b-2c3d4e5f6a7b"


@pytest.fixture
def pair(user):
    return tokens.start_family(user=user, now=timezone.now())


def refresh(text, **options):
    return ApiClient().send(PATH, {"refresh_token": text}, **options)


def disabled(user):
    user.is_active = False
    user.save(update_fields=["is_active"])


def password_changed(user):
    user.set_password("another password")
    user.save(update_fields=["password", "credentials_changed_at"])


def logged_out(user):
    family = TokenFamily.objects.get(user=user)
    family.revoked_at = timezone.now()
    family.save()


@pytest.mark.django_db
class TestRefreshing:
    def test_reuse_of_a_refresh_token_revokes_only_the_tokens_of_its_log_in(self, pair, user):
        other = tokens.start_family(user=user, now=timezone.now())
        fresh = refresh(pair.refresh_token).json()
        assert_error(refresh(pair.refresh_token), 401, "E2002")
        assert_error(refresh(fresh["refresh_token"]), 401, "E2002")
        forget_credentials()
        for token in (pair.access_token, fresh["access_token"]):
            assert_error(ApiClient(bearer=token).read("/auth/me"), 401, "E2002")
        assert refresh(other.refresh_token).status_code == 200

    def test_an_unknown_refresh_token_is_rejected(self):
        for text in ("rt_unknown", "x", "\u0661", "a" * 512):
            for key in (None, KEY):
                assert_error(refresh(text, key=key), 401, "E2002")
        assert IdempotencyRecord.objects.count() == 0

    @pytest.mark.parametrize("key", [None, KEY])
    @pytest.mark.parametrize("end", [disabled, password_changed, logged_out])
    def test_token_refresh_and_its_replay_are_rejected_after_the_end_of_the_log_in(self, pair, user, end, key):
        if key:
            refresh(pair.refresh_token, key=key)
        end(user)
        assert_error(refresh(pair.refresh_token, key=key), 401, "E2002")

    def test_an_expired_refresh_token_is_rejected(self, pair):
        RefreshToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert_error(refresh(pair.refresh_token), 401, "E2002")
        assert not TokenFamily.objects.filter(revoked_at__isnull=False).exists()


@pytest.mark.django_db
class TestRetryWithItsKey:
    def test_token_refresh_retry_with_the_same_key_returns_the_same_tokens(self, pair, user):
        first = refresh(pair.refresh_token, key=KEY)
        stored = bytes(IdempotencyRecord.objects.get().body)
        assert stored.startswith((b"gAAAA", b"b1.")), "it is encrypted"
        assert not any(first.json()[name].encode() in stored for name in ("access_token", "refresh_token"))
        for spelling in (KEY, KEY.upper(), f'"{KEY}"'):
            again = refresh(pair.refresh_token, key=spelling)
            assert (again.status_code, again.content) == (200, first.content)
            assert again.headers["Idempotent-Replayed"] == "true"
            assert again.headers["Cache-Control"] == "no-store"
        assert RefreshToken.objects.count() == 2
        assert again.json()["refresh_token"] != pair.refresh_token
        assert ApiClient(bearer=pair.access_token).read("/auth/me").status_code == 200, "until it expires"
        assert ApiClient(bearer=again.json()["access_token"]).read("/auth/me").json()["id"] == user.pk
        assert refresh(again.json()["refresh_token"]).status_code == 200

    def test_token_refresh_retry_with_another_key_or_after_the_next_refresh_ends_the_log_in(self, pair, user):
        fresh = refresh(pair.refresh_token, key=KEY).json()
        for options in ({"key": True}, {}):
            assert_error(refresh(pair.refresh_token, **options), 401, "E2002")
            assert_error(refresh(fresh["refresh_token"]), 401, "E2002")
        assert_error(refresh(pair.refresh_token, key=KEY), 401, "E2002")
        without_key, with_key = (tokens.start_family(user=user, now=timezone.now()).refresh_token for _ in range(2))
        refresh(without_key)
        assert_error(refresh(without_key, key=True), 401, "E2002")
        retried = str(uuid4())
        newest = refresh(refresh(with_key, key=retried).json()["refresh_token"], key=True).json()
        assert_error(refresh(with_key, key=retried), 401, "E2002")
        assert_error(refresh(newest["refresh_token"]), 401, "E2002")
        assert not TokenFamily.objects.filter(revoked_at=None).exists()

    def test_token_refresh_retry_after_five_minutes_ends_the_log_in(self, pair):
        fresh = refresh(pair.refresh_token, key=KEY).json()
        used_at = timezone.now() - tokens.RETRY_WINDOW
        RefreshToken.objects.filter(used_at__isnull=False).update(used_at=used_at + timedelta(seconds=30))
        assert refresh(pair.refresh_token, key=KEY).json() == fresh
        RefreshToken.objects.filter(used_at__isnull=False).update(used_at=used_at)
        assert_error(refresh(pair.refresh_token, key=KEY), 401, "E2002")
        assert_error(refresh(fresh["refresh_token"]), 401, "E2002")

    def test_idempotency_key_of_another_refresh_token_or_operation_is_rejected(self, api, pair, user):
        other = tokens.start_family(user=user, now=timezone.now()).refresh_token
        refresh(pair.refresh_token, key=KEY)
        used = str(uuid4())
        api.send("/api-keys", {"name": "shop"}, key=used)
        for key in (KEY, used):
            assert_error(refresh(other, key=key), 422, "E1010")
        assert refresh(other).status_code == 200, "it was not used"

    def test_two_accounts_can_refresh_tokens_with_the_same_idempotency_key(self, pair, stranger):
        other = tokens.start_family(user=stranger, now=timezone.now())
        first, second = (refresh(item.refresh_token, key=KEY) for item in (pair, other))
        assert (first.status_code, second.status_code) == (200, 200)
        assert "Idempotent-Replayed" not in second.headers
        assert first.json()["refresh_token"] != second.json()["refresh_token"]

    def test_malformed_idempotency_key_does_not_consume_the_refresh_token(self, pair):
        for key in ("", "1", "x" * 300, KEY[:-1], f"{KEY},{KEY}", "\u00e9"):
            assert_error(refresh(pair.refresh_token, key=key.encode().decode("latin-1")), 400, "E1008")
        assert refresh(pair.refresh_token).status_code == 200

    def test_token_refresh_rejected_for_a_new_authenticator_can_be_retried(self, pair, user):
        device = authenticator_of(user)
        assert_error(refresh(pair.refresh_token, key=KEY), 401, "E2002")
        assert IdempotencyRecord.objects.count() == 0
        device.delete()
        assert refresh(pair.refresh_token, key=KEY).status_code == 200


def test_concurrent_refresh_retries_with_one_key_return_one_token_pair(committed, needs_postgresql):
    for number in range(5):
        pair = tokens.start_family(user=UserFactory(), now=timezone.now())
        key = f"0192b3c4-d5e6-7f80-9a1b-2c3d4e5f6a{number:02}"
        answers = run_concurrently(*[partial(refresh, pair.refresh_token, key=key)] * 8)
        assert {answer.status_code for answer in answers} <= {200, 409}
        contents = {answer.content for answer in answers if answer.status_code == 200}
        assert len(contents) == 1
        again = refresh(pair.refresh_token, key=key)
        assert {again.content} == contents
        assert refresh(again.json()["refresh_token"]).status_code == 200


def test_concurrent_uses_of_a_refresh_token_end_the_log_in(committed, needs_postgresql):
    for _ in range(5):
        pair = tokens.start_family(user=UserFactory(), now=timezone.now())
        answers = run_concurrently(*[partial(refresh, pair.refresh_token)] * 8)
        assert sorted(answer.status_code for answer in answers) == [200] + [401] * 7
        for answer in answers:
            if answer.status_code == 401:
                assert_error(answer, 401, "E2002")
        assert TokenFamily.objects.filter(revoked_at__isnull=True).count() == 0
        winner = next(answer for answer in answers if answer.status_code == 200)
        assert_error(refresh(winner.json()["refresh_token"]), 401, "E2002")
