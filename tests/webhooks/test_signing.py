"""Signatures against known values and a foreign implementation."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest
import standardwebhooks

from config.webhooks.signing import service_signature, standard_signature

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@pytest.mark.parametrize("body", [b"", b"{}", b'{"a":1}', "ü".encode(), b"\x00\xff", b"x" * 20_000])
def test_both_schemes_are_what_others_compute(body):
    assert service_signature(SECRET, body) == hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    if body != b"\x00\xff":  # the foreign library takes text
        theirs = standardwebhooks.Webhook(SECRET).sign(
            "id-1", datetime.fromtimestamp(1_700_000_000, UTC), body.decode()
        )
        assert standard_signature(SECRET, message_id="id-1", timestamp=1_700_000_000, body=body) == theirs


def test_the_keys_of_the_two_schemes_differ():
    """One is keyed with the text, the other with the bytes it encodes: a mistake in either would show."""
    body, decoded = b"{}", bytes(range(32))
    assert service_signature(SECRET, body) != hmac.new(decoded, body, hashlib.sha256).hexdigest()
    expected = base64.b64encode(hmac.digest(decoded, b"m.1.{}", "sha256")).decode()
    assert standard_signature(SECRET, message_id="m", timestamp=1, body=body) == f"v1,{expected}"
