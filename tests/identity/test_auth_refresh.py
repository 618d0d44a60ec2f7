"""POST /v1/auth/refresh: one use, and what a second use means."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from identity.access import tokens
from identity.access.authentication import forget_credentials
from identity.models import RefreshToken, TokenFamily
from tests.api import ApiClient, assert_error
from tests.factories import UserFactory
from tests.races import at_once

PATH = "/auth/refresh"


@pytest.fixture
def pair(user):
    """A log-in of `user`."""
    return tokens.start_family(user=user, now=timezone.now())


def refresh(text):
    """Use a refresh token."""
    return ApiClient().send(PATH, {"refresh_token": text})


@pytest.mark.django_db
class TestRefreshing:
    def test_it_gives_a_new_pair(self, pair, user):
        response = refresh(pair.refresh_token)
        assert response.status_code == 200
        body = response.json()
        assert body["refresh_token"] != pair.refresh_token
        assert ApiClient(bearer=body["access_token"]).read("/auth/me").json()["id"] == user.pk
        assert refresh(body["refresh_token"]).status_code == 200

    def test_the_old_access_token_lives_on_until_its_end(self, pair):
        refresh(pair.refresh_token)
        assert ApiClient(bearer=pair.access_token).read("/auth/me").status_code == 200

    def test_a_second_use_ends_the_whole_log_in(self, pair):
        fresh = refresh(pair.refresh_token).json()
        assert_error(refresh(pair.refresh_token), 401, "E2002")
        assert_error(refresh(fresh["refresh_token"]), 401, "E2002")
        forget_credentials()
        for token in (pair.access_token, fresh["access_token"]):
            assert_error(ApiClient(bearer=token).read("/auth/me"), 401, "E2002")

    def test_a_second_use_leaves_other_log_ins_alone(self, pair, user):
        other = tokens.start_family(user=user, now=timezone.now())
        refresh(pair.refresh_token)
        refresh(pair.refresh_token)
        assert refresh(other.refresh_token).status_code == 200

    def test_an_unknown_token_is_refused(self):
        for text in ("rt_unknown", "x", "\u0661", "a" * 512):
            assert_error(refresh(text), 401, "E2002")

    def test_a_token_that_has_run_out_is_refused(self, pair):
        RefreshToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert_error(refresh(pair.refresh_token), 401, "E2002")
        assert not TokenFamily.objects.filter(revoked_at__isnull=False).exists()

    def test_a_token_of_a_disabled_user_is_refused(self, pair, user):
        user.is_active = False
        user.save(update_fields=["is_active"])
        assert_error(refresh(pair.refresh_token), 401, "E2002")

    def test_a_token_from_before_a_password_change_is_refused(self, pair, user):
        user.set_password("another password")
        user.save(update_fields=["password", "credentials_changed_at"])
        assert_error(refresh(pair.refresh_token), 401, "E2002")


def test_eight_concurrent_uses_end_the_log_in(committed, needs_postgresql):
    for _ in range(5):
        pair = tokens.start_family(user=UserFactory(), now=timezone.now())
        answers = at_once(*[partial(refresh, pair.refresh_token)] * 8)
        assert sorted(answer.status_code for answer in answers) == [200] + [401] * 7
        for answer in answers:
            if answer.status_code == 401:
                assert_error(answer, 401, "E2002")
        assert TokenFamily.objects.filter(revoked_at__isnull=True).count() == 0
        winner = next(answer for answer in answers if answer.status_code == 200)
        assert_error(refresh(winner.json()["refresh_token"]), 401, "E2002")
