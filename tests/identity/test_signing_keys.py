"""Test which key signs access tokens at each time, and GET /.well-known/jwks.json."""

from datetime import timedelta
from types import SimpleNamespace

import jwt
import pytest
from django.utils import timezone

from identity.access import signing_keys
from identity.access.signing_keys import JWKS_MAX_AGE_SECONDS, KEYS_REMEMBERED_SECONDS, PUBLISHED_AHEAD_SECONDS
from identity.models import SigningKey
from ledger import service_a
from tests.api import bearer_of
from tests.races import run_concurrently

NOW = timezone.now()
AHEAD = timedelta(seconds=PUBLISHED_AHEAD_SECONDS)
WEEK = timedelta(days=7)


def key(kid, signs_from=0.0, retires_at=None):
    """Return a key whose times are seconds from NOW."""
    return SimpleNamespace(
        kid=kid,
        signs_from=NOW + timedelta(seconds=signs_from),
        retires_at=None if retires_at is None else NOW + timedelta(seconds=retires_at),
    )


def test_current_token_signing_key_is_published():
    for live, signs in (
        ([key("only")], "only"), ([key("next", 60), key("old", -999, 600)], "old"),
        ([key("next", 0), key("old", -999, 600)], "next"),
        ([key("newest", 60), key("never", 30, 630), key("old", -999, 600)], "old"),
        ([key("newest", 60), key("replaced", -1, 630), key("old", -999, 600)], "replaced"),
        # The clock was set back: before the newer key, slightly before it, and before both keys were created.
        ([key("next", -1), key("old", 3600, 600)], "next"), ([key("next", 60), key("old", 3600, 600)], "old"),
        ([key("next", 7260), key("old", 3600, 9000)], "old"), ([key("only", 3600)], "only"),
    ):  # fmt: skip
        for order in (live, live[::-1]):
            assert signing_keys.key_that_signs(order, NOW).kid == signs


def test_caches_of_published_keys_expire_before_a_new_signing_key_is_used():
    assert PUBLISHED_AHEAD_SECONDS >= 30
    assert PUBLISHED_AHEAD_SECONDS > JWKS_MAX_AGE_SECONDS + KEYS_REMEMBERED_SECONDS
    # The ledger requests an unknown key again, but not immediately after its last request.
    assert PUBLISHED_AHEAD_SECONDS > service_a._JWKS_RETRY_SECONDS


@pytest.mark.django_db
class TestRotation:
    def test_new_signing_key_is_published_while_the_old_key_signs(self):
        old, _ = signing_keys.key_ring.signing()
        now = timezone.now()
        fresh, replaced = signing_keys.rotate_signing_key(now=now, overlap=WEEK)
        assert replaced == [old]
        assert fresh.signs_from == now + AHEAD
        assert signing_keys.key_ring.signing()[0] == old
        assert signing_keys.key_ring.verifying(fresh.kid) is not None
        signing_keys.rotate_signing_key(now=timezone.now(), overlap=WEEK)
        assert signing_keys.key_ring.signing()[0] == old

    def test_new_signing_key_becomes_active_without_an_sql_statement(self, monkeypatch, django_assert_num_queries):
        signing_keys.key_ring.signing()
        fresh, _ = signing_keys.rotate_signing_key(now=timezone.now(), overlap=WEEK)
        signing_keys.key_ring.signing()
        later = timezone.now() + AHEAD
        monkeypatch.setattr(signing_keys, "timezone", SimpleNamespace(now=lambda: later))
        with django_assert_num_queries(0):
            assert signing_keys.key_ring.signing()[0] == fresh.kid

    def test_first_signing_key_is_used_immediately(self):
        fresh, replaced = signing_keys.rotate_signing_key(now=NOW, overlap=WEEK)
        assert (replaced, fresh.signs_from) == ([], NOW)
        assert signing_keys.key_ring.signing()[0] == fresh.kid
        second, _ = signing_keys.rotate_signing_key(now=NOW, overlap=timedelta(0))
        assert SigningKey.objects.get(kid=fresh.kid).retires_at == second.signs_from


def test_concurrent_starts_create_one_first_signing_key(committed):
    kids = set(run_concurrently(*[lambda: signing_keys.KeyRing().signing()[0]] * 8))
    assert kids == {SigningKey.objects.get().kid}


def test_concurrent_reloads_of_the_signing_keys_create_no_second_key(committed, monkeypatch):
    """In eight threads, every call reloads the ring. No thread creates another key for an empty ring."""
    monkeypatch.setattr(signing_keys, "KEYS_REMEMBERED_SECONDS", 0.0)
    ring = signing_keys.KeyRing()
    ring.signing()

    kids = set().union(*run_concurrently(*[lambda: {ring.signing()[0] for _ in range(50)}] * 8))
    assert kids == {SigningKey.objects.get().kid}


JWKS = "/.well-known/jwks.json"


def test_a_token_can_be_verified_with_the_published_keys(anonymous, user, settings):
    token = bearer_of(user)
    response = anonymous.read(JWKS)
    assert response.headers["Cache-Control"] == "public, max-age=30"
    for key in response.json()["keys"]:
        assert set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"}, "no private key"
        assert (key["kty"], key["crv"], key["use"], key["alg"]) == ("EC", "P-256", "sig", "ES256")
    published = jwt.PyJWKSet.from_dict(response.json())
    key = published[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(token, key, algorithms=["ES256"], audience=settings.BASE_URL, issuer=settings.BASE_URL)
    assert claims["sub"] == str(user.pk)


def test_retired_signing_keys_remain_published_until_their_overlap_ends(anonymous, db):
    now = timezone.now()
    first = signing_keys.create_signing_key(now=now, signs_from=now)
    signing_keys.rotate_signing_key(now=now, overlap=timedelta(days=7))
    assert {key["kid"] for key in anonymous.read(JWKS).json()["keys"]} >= {first.kid}
    SigningKey.objects.filter(pk=first.pk).update(retires_at=timezone.now() - timedelta(seconds=1))
    assert first.kid not in {key["kid"] for key in anonymous.read(JWKS).json()["keys"]}
