"""GET {host_root}/.well-known/jwks.json: what verifies access tokens."""

from datetime import timedelta

import jwt
import pytest
from django.utils import timezone

from identity.access import signing_keys
from identity.models import SigningKey
from tests.api import bearer_of

pytestmark = pytest.mark.django_db
PATH = "/.well-known/jwks.json"


def test_a_token_can_be_verified_with_what_is_published(anonymous, user, settings):
    token = bearer_of(user)
    published = jwt.PyJWKSet.from_dict(anonymous.read(PATH).json())
    key = published[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(token, key, algorithms=["ES256"], audience=settings.BASE_URL, issuer=settings.BASE_URL)
    assert claims["sub"] == str(user.pk)


def test_no_private_part_is_published(anonymous):
    for key in anonymous.read(PATH).json()["keys"]:
        assert set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"}
        assert (key["kty"], key["crv"], key["use"], key["alg"]) == ("EC", "P-256", "sig", "ES256")


def test_a_first_key_is_made_when_there_is_none(anonymous):
    assert len(anonymous.read(PATH).json()["keys"]) == 1


def test_retired_keys_stay_until_their_overlap_ends(anonymous):
    now = timezone.now()
    first = signing_keys.create_signing_key(now=now, signs_from=now)
    signing_keys.rotate_signing_key(now=now, overlap=timedelta(days=7))
    assert {key["kid"] for key in anonymous.read(PATH).json()["keys"]} >= {first.kid}
    SigningKey.objects.filter(pk=first.pk).update(retires_at=timezone.now() - timedelta(seconds=1))
    assert first.kid not in {key["kid"] for key in anonymous.read(PATH).json()["keys"]}


def test_it_may_be_cached(anonymous):
    assert anonymous.read(PATH).headers["Cache-Control"] == "public, max-age=30"


def test_head_and_options_are_answered(anonymous):
    assert anonymous.call("HEAD", PATH).status_code == 200
    assert anonymous.call("OPTIONS", PATH).status_code == 200
