"""Test which access tokens are accepted as credentials."""

import base64
import hmac
import json
import time
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.utils import timezone

from identity.access import signing_keys, tokens
from identity.access.authentication import forget_credentials
from identity.models import SigningKey, TokenFamily
from tests.api import ApiClient, assert_error, bearer_of
from tests.identity.support import move_clock

pytestmark = pytest.mark.django_db
UNKNOWN = "0192b3c4-0000-7000-8000-000000000000"


@pytest.fixture
def claims(user):
    return jwt.decode(bearer_of(user), options={"verify_signature": False})


def signed(claims, *, key=None, algorithm="ES256", headers=None):
    """Sign claims, with the platform's own key by default."""
    kid, private = signing_keys.key_ring.signing()
    # Call `jwt.api_jws.encode` directly, because `jwt.encode` refuses to sign some of these claims.
    payload = json.dumps(claims).encode()
    return jwt.api_jws.encode(payload, key or private, algorithm=algorithm, headers={"kid": kid, **(headers or {})})


def call_with_token(token):
    return ApiClient(bearer=token).read("/auth/me")


def test_access_token_has_the_documented_claims(user, settings):
    token = bearer_of(user)
    header, payload = jwt.get_unverified_header(token), jwt.decode(token, options={"verify_signature": False})
    assert header == {"alg": "ES256", "typ": "JWT", "kid": signing_keys.key_ring.signing()[0]}
    assert payload["iss"] == payload["aud"] == settings.BASE_URL
    assert payload["sub"] == str(user.pk)
    assert payload["exp"] - payload["iat"] == 900
    assert payload["jti"]
    assert "staff" not in payload
    assert "scope" not in payload


def test_a_token_signed_by_another_key_is_rejected_for_any_header(claims):
    stranger = ec.generate_private_key(ec.SECP256R1())
    for headers in (
        {}, {"jwk": {"kty": "oct", "k": "AA"}}, {"jku": "http://127.0.0.1:9/keys"}, {"x5u": "http://127.0.0.1:9/chain"},
        {"crit": ["unheard-of"], "unheard-of": True}, {"kid": "../../dev/null"}, {"kid": ""}, {"kid": "' OR 1=1 --"},
    ):  # fmt: skip
        assert_error(call_with_token(signed(claims, key=stranger, headers=headers)), 401, "E2002")
        if headers and "kid" not in headers:
            assert_error(call_with_token(signed(claims, headers=headers)), 401, "E2002")


def test_a_token_signed_with_the_public_key_as_a_secret_is_rejected(claims):
    kid, private = signing_keys.key_ring.signing()
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    secret = base64.urlsafe_b64encode(public)  # PyJWT refuses to sign with a secret that looks like PEM.
    for algorithm in ("HS256", "HS384", "HS512"):
        assert_error(call_with_token(signed(claims, key=secret, algorithm=algorithm)), 401, "E2002")
        header = base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "typ": "JWT", "kid": kid}).encode()).rstrip(
            b"="
        )
        payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
        message = header + b"." + payload
        mac = base64.urlsafe_b64encode(hmac.new(public, message, f"sha{algorithm[2:]}").digest()).rstrip(b"=")
        assert_error(call_with_token((message + b"." + mac).decode()), 401, "E2002")


NO_TIMES, NOT_US = ["soon", "5", None, [], True], ["https://other.example/v1", "", 5, None, ["https://other.example"]]
NO_TEXTS = [5, None, ["offers:read"], {}]
WRONG = {
    "exp": [
        "9999999999", 1e15, 9.2e12, 9_000_000_000_000, 253_402_300_800, 1e308, -1, None, True, [], {}, float("inf"),
    ],
    "iat": NO_TIMES, "nbf": NO_TIMES, "iss": NOT_US, "aud": NOT_US,
    "sub": [
        "another's", "abc", ["1"], "1\0", "", "0", "-1", "007", " 1", "1.0", 5, None, True, {}, "9" * 30, "١٢",
        str(2**63),
    ],
    "sid": ["", "abc", 5, None, [], "{" + UNKNOWN + "}"],
    "scope": NO_TEXTS, "client_id": NO_TEXTS, "token_type": ["refresh"],
}  # fmt: skip


def test_access_token_with_a_wrong_or_missing_claim_is_rejected(user, claims, stranger):
    replaced = {"soon": time.time() + 90, "another's": str(stranger.pk)}
    for claim, values in WRONG.items():
        for value in values:
            answer = call_with_token(signed({**claims, claim: replaced.get(str(value), value)}))
            assert (answer.status_code, answer.json()["code"]) == (401, "E2002"), (claim, value)
    for claim in ("exp", "iat", "iss", "aud", "sub", "jti", "sid", "token_type"):
        answer = call_with_token(signed({name: value for name, value in claims.items() if name != claim}))
        assert (answer.status_code, answer.json()["code"]) == (401, "E2002"), claim
    for user_id in ("abc", [1], "1\0"):  # This claim is ignored.
        assert call_with_token(signed({**claims, "user_id": user_id})).json()["user_id"] == str(user.pk)


def test_expired_or_revoked_access_token_returns_its_error_code(user, claims, monkeypatch):
    now = int(time.time())
    ahead = signed({**claims, "iat": now + 30, "nbf": now + 30})
    assert call_with_token(ahead).status_code == 200, "the clock of the issuer may differ"
    assert_error(call_with_token(signed({**claims, "exp": now - 1, "iat": now - 901})), 401, "E2003")
    assert_error(call_with_token(signed({**claims, "sid": UNKNOWN})), 401, "E2003")
    short = signed({**claims, "exp": now + 2})
    assert call_with_token(short).status_code == 200
    with monkeypatch.context() as later:
        move_clock(later, "identity.access.authentication", 2.5)
        move_clock(later, "config.core.tokens", 2.5)
        assert_error(call_with_token(short), 401, "E2003")
    user.delete()
    assert_error(call_with_token(ahead), 401, "E2003")


def test_malformed_access_token_is_rejected(user, claims, anonymous):
    for text in ("a", "a.b", "a.b.c", "a.b.c.d", "....", "eyJ9.e30.AAAA", "x" * 5000, "rt_abc", "e30.e30.", "=.=.="):
        assert_error(call_with_token(text), 401, "E2002")
    assert_error(call_with_token(jwt.encode(claims, None, algorithm="none")), 401, "E2002")
    for kid in ({}, {"kid": 5}, {"kid": ["a"]}, {"kid": {"a": 1}}):
        parts = ({"alg": "ES256", "typ": "JWT", **kid}, claims)
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
        assert_error(call_with_token(".".join([*encoded, "AAAA"])), 401, "E2002")
    pair = tokens.start_family(user=user, now=timezone.now())
    assert_error(call_with_token(pair.refresh_token), 401, "E2002")
    assert_error(anonymous.send("/auth/refresh", {"refresh_token": pair.access_token}), 401, "E2002")


def test_token_in_json_serialization_or_without_an_object_payload_is_rejected(claims):
    header, payload, signature = signed(claims).split(".")
    document = json.dumps({"payload": payload, "signatures": [{"protected": header, "signature": signature}]})
    assert call_with_token(document.replace(" ", "")).status_code in {400, 401}
    assert_error(call_with_token(json.dumps({"payload": payload}).replace(" ", "")), 401, "E2002")
    kid, private = signing_keys.key_ring.signing()
    for payload in (b"[]", b'"x"', b"5", b"null", b"\xff\xfe", b"[" * 5000):
        token = jwt.api_jws.encode(payload, private, algorithm="ES256", headers={"kid": kid})
        assert_error(call_with_token(token), 401, "E2002")


@pytest.mark.parametrize("change", ["disabled", "password elsewhere", "family elsewhere"])
def test_cached_access_token_is_rejected_after_a_change_of_account_password_or_token_family(
    user, api, monkeypatch, change
):
    """Changes by another process, which sends no signal to this process, take effect within 5 s."""
    assert api.read("/auth/me").status_code == 200
    if change == "disabled":
        user.is_active = False
        user.save(update_fields=["is_active"])
    elif change == "password elsewhere":
        type(user).objects.filter(pk=user.pk).update(credentials_changed_at=timezone.now() + timedelta(seconds=1))
        assert api.read("/auth/me").status_code == 200, "remembered, as a busy caller's credential is"
    else:
        TokenFamily.objects.filter(user=user).update(revoked_at=timezone.now())
    if change != "disabled":
        move_clock(monkeypatch, "identity.access.authentication", 5)
    assert_error(api.read("/auth/me"), 401, "E2002")


def test_tokens_of_a_retired_signing_key_are_accepted_during_its_overlap(user, claims):
    token = signed(claims)
    signing_keys.rotate_signing_key(now=timezone.now(), overlap=timedelta(days=7))
    assert call_with_token(token).status_code == 200
    SigningKey.objects.filter(retires_at=None).update(signs_from=timezone.now())
    signing_keys.key_ring.forget()
    assert jwt.get_unverified_header(bearer_of(user))["kid"] != jwt.get_unverified_header(token)["kid"]
    SigningKey.objects.filter(retires_at__isnull=False).update(retires_at=timezone.now() - timedelta(seconds=1))
    forget_credentials()
    assert_error(call_with_token(token), 401, "E2002")
