"""The receiver that docs/guides/webhooks.md shows accepts what we send and nothing else."""

import pytest

from config.webhooks.signing import new_secret, signature_headers
from tests.webhooks.receiver_example import accept

pytestmark = pytest.mark.django_db


@pytest.fixture
def delivery(receiver, make_endpoint, happen, work):
    """A delivery as it came: its secret, headers and body."""
    endpoint = make_endpoint(receiver.url)
    happen()
    work()
    (request,) = receiver.received
    return endpoint.secret, dict(request.headers.items()), request.body


def test_a_delivery_of_ours_is_accepted(delivery):
    assert accept(*delivery) == 200


def test_forged_or_changed_deliveries_are_rejected(delivery):
    secret, headers, body = delivery
    assert accept(new_secret(), headers, body) == 401
    assert accept(secret, headers, body + b" ") == 401
    assert accept(secret, headers, body.replace(b"wallet-0", b"wallet-1")) == 401
    assert accept(secret, {}, body) == 401


def test_each_header_counts(delivery):
    secret, headers, body = delivery
    for name, value in (
        ("X-Service-Signature", ""), ("X-Service-Signature", "ü" * 64), ("X-Service-Signature", "0" * 64),
        ("webhook-id", "another"), ("webhook-timestamp", "1"), ("webhook-timestamp", "soon"),
        ("webhook-signature", "v1,AAAA"), ("webhook-signature", "nonsense"), ("webhook-signature", ""),
    ):  # fmt: skip
        assert accept(secret, {**headers, name: value}, body) == 401, (name, value)


def test_an_old_delivery_is_refused_though_its_signatures_are_right(delivery):
    secret, _headers, body = delivery
    old = signature_headers(
        message_id="m", timestamp=1_700_000_000, body=body, header_secret=secret, live_secrets=[secret]
    )
    assert accept(secret, old, body) == 401
