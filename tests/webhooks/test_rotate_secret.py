"""Test the rotation of a webhook secret by API and command, and which secret signs a delivery."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta
from io import StringIO

import pytest
import standardwebhooks
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.webhooks.endpoints import prove_secret, rotate_secret
from config.webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def rotate(api, endpoint, body=None):
    return api.send(f"/webhooks/endpoints/{endpoint.pk}/rotate-secret", body)


def signed_by(request, secret):
    """Return the schemes by which a request verifies with a secret; the verification code is third-party."""
    schemes = set()
    digest = hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()
    if hmac.compare_digest(digest, request.headers["X-Service-Signature"]):
        schemes.add("service")
    try:
        standardwebhooks.Webhook(secret).verify(request.body, dict(request.headers))
    except standardwebhooks.WebhookVerificationError:
        return schemes
    return schemes | {"standard"}


@pytest.fixture
def deliver_event(receiver, emit, work):
    """Return a function that records an event, delivers it, and returns the request."""

    def send():
        emit()
        work()
        return receiver.received[-1]

    return send


def test_both_webhook_signature_schemes_verify_only_the_unchanged_body_with_the_secret(
    receiver, make_endpoint, deliver_event
):
    endpoint = make_endpoint(receiver.url)
    request = deliver_event()
    assert signed_by(request, endpoint.secret) == {"service", "standard"}
    assert signed_by(request, "whsec_" + base64.b64encode(b"x" * 32).decode()) == set()
    assert abs(int(request.headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    request.body = request.body.replace(b"wallet-0", b"wallet-1")
    assert signed_by(request, endpoint.secret) == set()


def test_old_webhook_secret_signs_only_during_the_grace_period(api, receiver, make_endpoint, deliver_event):
    endpoint = make_endpoint(receiver.url)
    old, new = endpoint.secret, rotate(api, endpoint).json()["secret"]
    assert old != new
    request = deliver_event()
    assert len(request.headers["webhook-signature"].split()) == 2
    assert (signed_by(request, old), signed_by(request, new)) == ({"service", "standard"}, {"standard"})
    stored = Endpoint.objects.get()
    assert stored.previous_secret_until - timezone.now() > timedelta(hours=23, minutes=59)
    Endpoint.objects.update(previous_secret_until=timezone.now() - timedelta(seconds=1))
    request = deliver_event()
    assert len(request.headers["webhook-signature"].split()) == 1
    assert (signed_by(request, old), signed_by(request, new)) == (set(), {"service", "standard"})


def test_webhook_service_signature_uses_the_new_secret_after_the_first_successful_test(
    api, receiver, make_endpoint, deliver_event, work
):
    endpoint = make_endpoint(receiver.url)
    old, new = endpoint.secret, rotate(api, endpoint).json()["secret"]
    receiver.answers = [(401, {}, b"")]
    api.send(f"/webhooks/endpoints/{endpoint.pk}/test")
    work()
    assert "service" in signed_by(receiver.received[-1], new)
    assert "service" in signed_by(deliver_event(), old)
    api.send(f"/webhooks/endpoints/{endpoint.pk}/test")
    work()
    request = deliver_event()
    assert (signed_by(request, old), signed_by(request, new)) == ({"standard"}, {"service", "standard"})


def test_second_rotation_retires_the_oldest_webhook_secret(api, receiver, make_endpoint, deliver_event):
    endpoint = make_endpoint(receiver.url)
    first = endpoint.secret
    second, third = (rotate(api, endpoint).json()["secret"] for _ in range(2))
    request = deliver_event()
    assert [bool(signed_by(request, secret)) for secret in (first, second, third)] == [False, True, True]


def test_rotation_without_a_grace_period_replaces_the_webhook_secret_immediately(
    api, receiver, make_endpoint, deliver_event
):
    endpoint = make_endpoint(receiver.url)
    old, new = endpoint.secret, rotate(api, endpoint, {"grace_seconds": 0}).json()["secret"]
    request = deliver_event()
    assert (signed_by(request, old), signed_by(request, new)) == (set(), {"service", "standard"})
    assert Endpoint.objects.get().previous_secret is None


def test_success_of_a_test_event_sent_before_a_rotation_does_not_confirm_the_new_secret(make_endpoint):
    before = make_endpoint()
    rotate_secret(before.pk, grace=timedelta(hours=1), now=timezone.now())
    prove_secret(before)
    assert not Endpoint.objects.get().secret_proven


def test_webhook_secret_rotation_returns_the_endpoint_and_the_secret(api, make_endpoint):
    endpoint = make_endpoint()
    body = rotate(api, endpoint, {"grace_seconds": 604_800}).json()
    assert body["id"] == str(endpoint.pk)
    assert body["secret"] == Endpoint.objects.get().secret
    assert "secret" not in api.read(f"/webhooks/endpoints/{endpoint.pk}").json()


def test_webhook_secret_rotation_command_prints_the_secret(make_endpoint):
    endpoint = make_endpoint()
    out = StringIO()
    call_command("rotate_webhook_secret", str(endpoint.pk), "--grace-seconds", "60", "--json", stdout=out)
    printed = json.loads(out.getvalue().splitlines()[-1])
    stored = Endpoint.objects.get()
    assert (printed["id"], printed["secret"]) == (str(endpoint.pk), stored.secret)
    assert stored.previous_secret == endpoint.secret
    assert timedelta(seconds=30) < stored.previous_secret_until - timezone.now() <= timedelta(seconds=60)


def test_webhook_secret_rotation_command_rejects_invalid_arguments(make_endpoint):
    endpoint = make_endpoint()
    for arguments in [["x"], ["01930000-0000-7000-8000-000000000000"], ["{id}", "--grace-seconds=-1"]]:
        with pytest.raises(CommandError):
            call_command("rotate_webhook_secret", *[argument.format(id=endpoint.pk) for argument in arguments])
        assert Endpoint.objects.get().secret == endpoint.secret, arguments


def test_every_webhook_delivery_can_be_verified_during_secret_rotations(api, receiver, make_endpoint, emit, work):
    """A receiver that tries all its secrets accepts every delivery."""
    endpoint = make_endpoint(receiver.url)
    known = [endpoint.secret]
    for _ in range(3):
        emit(3)
        known.append(rotate(api, endpoint).json()["secret"])
        emit(3)
        work()
        for request in receiver.received:
            assert any(signed_by(request, secret) == {"service", "standard"} for secret in known[-3:])
        receiver.received.clear()
        api.send(f"/webhooks/endpoints/{endpoint.pk}/test")
        work()
        receiver.received.clear()
