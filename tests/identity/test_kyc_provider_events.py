"""Test Plaid's signed events at POST /v1/kyc/provider-events."""

import base64
import json
import time
from hashlib import sha256

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.admin import site
from jwt.algorithms import ECAlgorithm

from identity.kyc.admin import KycVerificationAdmin
from identity.kyc.models import KycVerification
from identity.providers import plaid_events
from tests.api import assert_error
from tests.identity.banking import events_of, read, row_of, start, statuses_of
from tests.identity.plaid_double import Fault

pytestmark = pytest.mark.django_db
PATH = "/kyc/provider-events"


def event_about(shown, **changes):
    return json.dumps(
        {
            "webhook_type": "IDENTITY_VERIFICATION", "webhook_code": "STATUS_UPDATED",
            "identity_verification_id": row_of(shown).provider_reference, "environment": "sandbox", **changes,
        }
    ).encode()  # fmt: skip


def deliver(client, body, token):
    return client.send(PATH, raw=body, **({} if token is None else {"Plaid_Verification": token}))


@pytest.fixture
def finished(plaid, api):
    """Return a verification that succeeded at Plaid and is not yet updated here."""
    shown = start(api)
    plaid.settle(row_of(shown).provider_reference, "success", kyc_check="success")
    return shown


def test_repeated_plaid_event_refreshes_the_identity_verification_status_from_plaid_once(
    plaid, api, anonymous, finished, user, judge
):
    body = event_about(finished)
    for _ in range(3):
        response = deliver(anonymous, body, plaid.sign(body))
        assert (response.status_code, response.json()) == (200, {})
    assert plaid.requests_at("/webhook_verification_key/get") == [{"key_id": plaid.kid}], "and is remembered"
    assert read(api, finished["verification_id"]).json()["status"] == "verified"
    assert statuses_of(user) == ["requires_input", "processing", "verified"]
    judge.judge(plaid.exchanges)


def test_status_in_a_plaid_event_is_not_trusted(plaid, api, anonymous):
    shown = start(api)
    body = event_about(shown, status="success", webhook_code="STATUS_UPDATED")
    assert deliver(anonymous, body, plaid.sign(body)).status_code == 200
    assert read(api, shown["verification_id"]).json()["status"] == "requires_input"


def test_old_plaid_event_does_not_revert_an_identity_verification_status(plaid, api, anonymous, finished):
    body = event_about(finished)
    deliver(anonymous, body, plaid.sign(body))
    plaid.settle(row_of(finished).provider_reference, "active")
    deliver(anonymous, body, plaid.sign(body))
    assert read(api, finished["verification_id"]).json()["status"] == "verified"


@pytest.mark.parametrize("word", ["failed", "canceled", "expired", "pending_review"])
def test_identity_verification_success_revoked_by_the_vendor_is_flagged_once(
    plaid, api, anonymous, finished, user, word
):
    body = event_about(finished)
    for status in ("success", "success", "active", "some_new_word", word, word):
        plaid.settle(row_of(finished).provider_reference, status)
        assert deliver(anonymous, body, plaid.sign(body)).status_code == 200
        assert (row_of(finished).last_error is None) == (status != word), status
    shown = read(api, finished["verification_id"]).json()
    assert (shown["status"], shown["provider_status"]) == ("verified", word)
    assert shown["last_error"]["code"] == "verification_revoked"
    revoked = [members for kind, members in events_of(user, "kyc.") if kind == "kyc.verification.revoked"]
    assert revoked == [{"verification_id": finished["verification_id"], "status": "verified", "attempt": 1}]
    (warning,) = KycVerificationAdmin(KycVerification, site).notices_of(row_of(finished))
    assert warning == f"The vendor reversed its success, and now reports “{word}”. The status here is unchanged."


def test_plaid_event_refreshes_an_identity_verification_read_less_than_10_seconds_ago(plaid, api, anonymous, finished):
    assert read(api, finished["verification_id"]).json()["status"] == "requires_input"
    body = event_about(finished)
    deliver(anonymous, body, plaid.sign(body))
    assert read(api, finished["verification_id"]).json()["status"] == "verified"


def test_unrelated_plaid_event_is_accepted_and_ignored(plaid, anonymous, finished):
    for event in (
        {"webhook_type": "TRANSACTIONS", "webhook_code": "SYNC_UPDATES_AVAILABLE", "item_id": "x"},
        {"webhook_type": "IDENTITY_VERIFICATION", "identity_verification_id": "idv_unknown"},
        {"webhook_type": "IDENTITY_VERIFICATION", "identity_verification_id": {"$ne": 1}},
        {"webhook_type": "IDENTITY_VERIFICATION"}, {}, [], "x", None,
    ):  # fmt: skip
        body = json.dumps(event).encode()
        assert deliver(anonymous, body, plaid.sign(body)).status_code == 200
    assert plaid.requests_at("/identity_verification/get") == []
    assert_error(deliver(anonymous, b"{", plaid.sign(b"{")), 400, "E1002")
    assert_error(deliver(anonymous, b" " * 1_048_577, "x"), 413, "E1007")


def tokens_of_a_forger(plaid, body):
    """Return forged tokens by their fault."""
    other = ec.generate_private_key(ec.SECP256R1())
    public = plaid.private_key.public_key()
    jwk = ECAlgorithm(ECAlgorithm.SHA256).to_jwk(other.public_key(), as_dict=True)
    claims = {"iat": int(time.time()), "request_body_sha256": sha256(body).hexdigest()}
    good = plaid.sign(body)
    head, payload, signature = good.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","kid":"key-of-the-double"}').rstrip(b"=").decode()
    return {
        "none at all": None, "empty": "", "no JWT": "x", "three empty parts": "..", "long": "a" * 9000,
        "non-ASCII": "é.é.é", "another key": plaid.sign(body, key=other),
        "a key in its header": jwt.encode(claims, other, algorithm="ES256", headers={"kid": plaid.kid, "jwk": jwk}),
        "unknown kid": plaid.sign(body, kid="unknown"), "unknown kid again": plaid.sign(body, kid="unknown"),
        "kid of another type": jwt.encode(claims, other, algorithm="ES256", headers={"jku": "http://127.0.0.1:1/"}),
        "long kid": plaid.sign(body, kid="k" * 129), "alg none": f"{none}.{payload}.",
        "HS256 with the public key": plaid.sign(body, algorithm="HS256", key=sha256(str(public).encode()).hexdigest()),
        "another body": plaid.sign(body + b" "), "no signature": f"{head}.{payload}.",
        "a changed signature": f"{head}.{payload}.{signature[:-8]}AAAAAAAA",
        "no digest": plaid.sign(body, claims={"iat": int(time.time())}),
        "a digest of another type": plaid.sign(body, claims={**claims, "request_body_sha256": ["x"]}),
        "a digest that is no ASCII": plaid.sign(body, claims={**claims, "request_body_sha256": "é"}),
    }  # fmt: skip


def test_event_without_a_valid_plaid_signature_returns_401(plaid, api, anonymous, finished):
    assert deliver(anonymous, b"{}", plaid.sign(b"{}")).status_code == 200, "and the key is known"
    body = event_about(finished)
    for wrong, token in tokens_of_a_forger(plaid, body).items():
        answer = deliver(anonymous, body, token)
        assert (answer.status_code, answer.json()["code"]) == (401, "E2006"), wrong
    assert plaid.requests_at("/identity_verification/get") == []
    assert read(api, finished["verification_id"]).json()["status"] == "requires_input"
    unknown = [asked for asked in plaid.requests_at("/webhook_verification_key/get") if asked["key_id"] == "unknown"]
    assert len(unknown) == 1, "the second token with this key requests nothing"
    plaid_events._keys.clear()
    plaid.key_expired_at = 1700000000
    assert_error(deliver(anonymous, body, plaid.sign(body)), 401, "E2006")


def test_plaid_event_is_accepted_for_5_minutes(plaid, anonymous, finished):
    body = event_about(finished)
    for seconds in (-302, 302):
        assert_error(deliver(anonymous, body, plaid.sign(body, at=time.time() + seconds)), 401, "E2008")
    for moment in ("1700000000", 1e15, True, None, [1]):
        claims = {"iat": moment, "request_body_sha256": sha256(body).hexdigest()}
        # PyJWT signs only numeric times, so the token is encoded by hand.
        encoded = jwt.api_jws.encode(json.dumps(claims).encode(), plaid.private_key, "ES256", {"kid": plaid.kid})
        assert_error(deliver(anonymous, body, encoded), 401, "E2008")
    for seconds in (-298, 298):
        assert deliver(anonymous, body, plaid.sign(body, at=time.time() + seconds)).status_code == 200


def test_plaid_event_key_is_fetched_again_after_an_hour(plaid, anonymous, finished, monkeypatch):
    body = event_about(finished)
    deliver(anonymous, body, plaid.sign(body))
    real = time.monotonic
    monkeypatch.setattr(plaid_events.time, "monotonic", lambda: real() + 3601)
    deliver(anonymous, body, plaid.sign(body))
    assert len(plaid.requests_at("/webhook_verification_key/get")) == 2


def test_plaid_event_with_an_unavailable_key_or_identity_verification_returns_502_for_a_retry(
    plaid, anonymous, finished, user
):
    body = event_about(finished)
    for path in ("/webhook_verification_key/get", "/identity_verification/get"):
        plaid.fail(path, Fault(500, b"oops"))
        assert_error(deliver(anonymous, body, plaid.sign(body)), 502, "E5003")
        assert statuses_of(user) == ["requires_input"]
    assert deliver(anonymous, body, plaid.sign(body)).status_code == 200
    assert statuses_of(user)[-1] == "verified"


def test_sandbox_vendor_accepts_no_identity_verification_events(api, anonymous, user):
    shown = start(api)
    body = event_about(shown)
    assert_error(deliver(anonymous, body, "a.b.c"), 401, "E2006")
    assert len(events_of(user, "kyc.")) == 1
