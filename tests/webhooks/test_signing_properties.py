"""Test delivery signatures with known values, a third-party library, the guide's receiver, and changed bodies."""

import base64
import hashlib
import hmac
import json
import time
from datetime import UTC, datetime

import hypothesis.strategies as st
import pytest
import standardwebhooks
from hypothesis import given

from config.webhooks.signing import new_secret, service_signature, signature_headers, standard_signature
from tests.properties import examples
from tests.webhooks.receiver_example import is_valid

SECRETS = st.binary(min_size=32, max_size=32).map(lambda key: "whsec_" + base64.b64encode(key).decode())
DOCUMENTS = st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers() | st.none(), max_size=5)
BODIES = DOCUMENTS.map(lambda document: json.dumps(document).encode())
IDS = st.text("abcdef0123456789-_", min_size=1, max_size=36)


def accepts(headers, body, secret):
    """Return whether a receiver with the third-party library accepts a delivery."""
    try:
        standardwebhooks.Webhook(secret).verify(body, {name.lower(): value for name, value in headers.items()})
    except standardwebhooks.WebhookVerificationError:
        return False
    return True


def sign_delivery(body, secrets, *, message_id="m"):
    return signature_headers(
        message_id=message_id, timestamp=int(time.time()), body=body, header_secret=secrets[0], live_secrets=secrets
    )


@given(BODIES, st.lists(SECRETS, min_size=1, max_size=2, unique=True), IDS)
@examples(30)
def test_webhook_signature_verifies_only_with_currently_valid_secrets(body, secrets, message_id):
    headers = sign_delivery(body, secrets, message_id=message_id)
    assert all(accepts(headers, body, secret) for secret in secrets)
    other = "whsec_" + base64.b64encode(hmac.digest(secrets[0].encode(), b"other", "sha256")).decode()
    assert not accepts(headers, body, other)
    assert headers["X-Service-Signature"] == hmac.new(secrets[0].encode(), body, "sha256").hexdigest()


@given(BODIES, SECRETS, st.integers(0, 10_000), st.integers(1, 255))
@examples(50)
def test_changed_byte_invalidates_both_webhook_signatures(body, secret, place, flip):
    at = place % len(body)
    changed = body[:at] + bytes([body[at] ^ flip]) + body[at + 1 :]
    assert service_signature(secret, changed) != service_signature(secret, body)
    assert standard_signature(secret, message_id="m", timestamp=5, body=changed) != standard_signature(
        secret, message_id="m", timestamp=5, body=body
    )


@given(BODIES, SECRETS, IDS, st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]))
@examples(30)
def test_changed_header_invalidates_the_standard_webhooks_signature(body, secret, message_id, name):
    headers = sign_delivery(body, [secret], message_id=message_id)
    if name == "webhook-timestamp":
        changed = str(int(headers[name]) + 1)
    elif name == "webhook-id":
        changed = headers[name] + "x"
    else:
        version, _, digest = headers[name].partition(",")
        changed = f"{version},{base64.b64encode(base64.b64decode(digest)[::-1]).decode()}"
        if changed == headers[name]:
            return
    assert not accepts({**headers, name: changed}, body, secret)


@given(SECRETS, st.text("abc019-", min_size=1, max_size=9), st.integers(0, 10**10), BODIES, st.data())
@examples(50)
def test_different_webhook_deliveries_have_different_signed_strings(secret, message_id, timestamp, body, data):
    """IDs contain no full stop and times contain only digits, so `id.time.body` can be split in only one way."""
    text = f"{message_id}.{timestamp}.".encode() + body
    cut = data.draw(st.integers(0, len(text)))
    other_id, rest = text[:cut], text[cut + 1 :]
    other_time, _, other_body = rest.partition(b".")
    if b"." in other_id or not other_time.isdigit() or text[cut : cut + 1] != b".":
        return
    assert (other_id.decode(), int(other_time), other_body) == (message_id, timestamp, body)


SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def test_webhook_signatures_equal_the_results_of_other_libraries():
    for body in [b"", b"{}", b'{"a":1}', "ü".encode(), b"\x00\xff", b"x" * 20_000]:
        assert service_signature(SECRET, body) == hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest(), body
        if body != b"\x00\xff":  # The third-party library accepts only text.
            theirs = standardwebhooks.Webhook(SECRET).sign(
                "id-1", datetime.fromtimestamp(1_700_000_000, UTC), body.decode()
            )
            assert standard_signature(SECRET, message_id="id-1", timestamp=1_700_000_000, body=body) == theirs, body


def test_webhook_signature_schemes_use_different_hmac_keys():
    """One scheme uses the text of the secret as its key, and the other scheme uses the decoded bytes."""
    body, decoded = b"{}", bytes(range(32))
    assert service_signature(SECRET, body) != hmac.new(decoded, body, hashlib.sha256).hexdigest()
    expected = base64.b64encode(hmac.digest(decoded, b"m.1.{}", "sha256")).decode()
    assert standard_signature(SECRET, message_id="m", timestamp=1, body=body) == f"v1,{expected}"


@pytest.fixture
def delivery(receiver, make_endpoint, emit, work):
    """Return the secret, headers, and body of a received delivery."""
    endpoint = make_endpoint(receiver.url)
    emit()
    work()
    (request,) = receiver.received
    return endpoint.secret, {name.lower(): value for name, value in request.headers.items()}, request.body


def test_published_verify_function_accepts_only_an_unchanged_recent_delivery(delivery):
    assert is_valid(*delivery)
    secret, headers, body = delivery
    assert not is_valid(new_secret(), headers, body)
    assert not is_valid(secret, headers, body + b" ")
    assert not is_valid(secret, headers, body.replace(b"wallet-0", b"wallet-1"))
    assert not is_valid(secret, {}, body)
    for name, value in CHANGED:
        assert not is_valid(secret, {**headers, name: value}, body), (name, value)
    old = signature_headers(
        message_id="m", timestamp=1_700_000_000, body=body, header_secret=secret, live_secrets=[secret]
    )
    assert not is_valid(secret, old, body)


CHANGED = [
    ("webhook-id", "another"), ("webhook-timestamp", "1"), ("webhook-timestamp", "soon"),
    ("webhook-timestamp", "²"), ("webhook-signature", "v1,AAAA"), ("webhook-signature", "ü"),
    ("webhook-signature", ""),
]  # fmt: skip
