"""No request fails while keys and secrets are rotated under traffic."""

import hashlib
import hmac
import json
import threading
from contextlib import contextmanager
from io import StringIO
from types import SimpleNamespace

import pytest
import requests
from django.core.management import call_command
from django.db import connections
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from config.webhooks.endpoints import create_endpoint, send_test
from config.webhooks.events import record_event
from config.webhooks.worker import Worker
from identity.access.keys import create_api_key
from identity.access.signing_keys import key_ring
from tests.factories import PASSWORD, UserFactory
from tests.identity.support import signature_headers
from tests.processes import PATIENCE_SECONDS, wait_until
from tests.webhooks.receiver import Receiver

PATH = "/v1/auth/me"
REQUESTS_BETWEEN = 15  # the number of responses before and after each step


class Traffic:
    """Two callers without pauses, who record every response other than 200."""

    def __init__(self, address, headers_of):
        self.address, self.headers_of = address, headers_of
        self.responses, self.failures = 0, []
        self._stopped = threading.Event()

    def run(self):
        with requests.Session() as session:
            while not self._stopped.is_set():
                response = session.get(self.address + PATH, headers=self.headers_of(), timeout=99)
                self.responses += 1
                if response.status_code != 200:
                    self.failures.append((response.status_code, response.text))

    def wait_for_more(self):
        """Wait for 15 more responses."""
        goal = self.responses + REQUESTS_BETWEEN
        wait_until(lambda: self.responses >= goal)

    @contextmanager
    def running(self):
        threads = [threading.Thread(target=self.run, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        self.wait_for_more()
        yield
        self.wait_for_more()
        self._stopped.set()
        for thread in threads:
            thread.join()


def command(name, *arguments, **options):
    out = StringIO()
    call_command(name, *arguments, as_json=True, stdout=out, **options)
    return json.loads(out.getvalue().splitlines()[-1])


@pytest.fixture
def user(live_server, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": None, "token": None}
    return UserFactory(username="rosa")


@pytest.fixture
def issued(user):
    return create_api_key(owner=user, name="service", scopes=None, now=timezone.now())


def signed(key, secret):
    return signature_headers(SimpleNamespace(key=key, secret=secret), "GET", PATH, b"")


@pytest.mark.parametrize("headers_of", [lambda key, _secret: {"X-API-Key": key}, signed], ids=["key", "signed"])
def test_requests_succeed_while_an_api_key_is_rotated(live_server, issued, headers_of):
    current = [(issued.key, issued.secret)]
    traffic = Traffic(live_server.url, lambda: headers_of(*current[0]))
    with traffic.running():
        fresh = command("rotate_api_key", issued.record.pk)
        traffic.wait_for_more()  # the old key still works
        current[0] = (fresh["key"], fresh["secret"])
        traffic.wait_for_more()
        command("revoke_api_key", issued.record.pk)
    assert traffic.failures == []
    assert requests.get(live_server.url + PATH, headers={"X-API-Key": issued.key}, timeout=99).status_code == 401


def test_requests_succeed_while_the_signing_key_is_rotated(live_server, user):
    body = {"username": "rosa", "password": PASSWORD}
    token = requests.post(f"{live_server.url}/v1/auth/token", json=body, timeout=99).json()["access_token"]
    traffic = Traffic(live_server.url, lambda: {"Authorization": f"Bearer {token}"})
    with traffic.running():
        old = key_ring.signing()[0]
        fresh = command("rotate_signing_key")
        assert fresh["retired"] == [old]
        new = requests.post(f"{live_server.url}/v1/auth/token", json=body, timeout=99).json()["access_token"]
        keys = requests.get(f"{live_server.url}/.well-known/jwks.json", timeout=99).json()["keys"]
        assert {old, fresh["kid"]} <= {key["kid"] for key in keys}
        answer = requests.get(live_server.url + PATH, headers={"Authorization": f"Bearer {new}"}, timeout=99)
        assert answer.status_code == 200
    assert traffic.failures == []


class Verifier:
    """A webhook receiver that checks both signatures with each of its secrets."""

    def __init__(self, secret):
        self.secrets = [secret]

    def accepts(self, received):
        body = received.body
        standard = any(self._standard(secret, received, body) for secret in self.secrets)
        hexes = {hmac.new(secret.encode(), body, hashlib.sha256).hexdigest() for secret in self.secrets}
        return standard and received.headers["X-Service-Signature"] in hexes

    @staticmethod
    def _standard(secret, received, body):
        try:
            Webhook(secret).verify(body, dict(received.headers))
        except WebhookVerificationError:
            return False
        return True


def test_webhook_signatures_verify_while_the_secret_is_rotated(committed, settings):
    settings.WEBHOOK_ALLOW_PRIVATE = True
    user = UserFactory()
    worker = Worker()
    with Receiver() as receiver:
        endpoint = create_endpoint(
            account_id=user.pk, url=receiver.url, event_types=["*"], description="", now=timezone.now()
        )
        verifier, checked = Verifier(endpoint.secret), []

        def deliver():
            try:
                worker.run()
            finally:
                connections.close_all()

        running = threading.Thread(target=deliver, daemon=True)
        running.start()

        def check_until(goal):
            """Check deliveries until this many have arrived."""

            def have_arrived():
                checked.extend(verifier.accepts(delivery) for delivery in receiver.received[len(checked) :])
                return len(checked) >= goal

            wait_until(have_arrived)

        def record_and_check(count):
            goal = len(checked) + count
            for number in range(count):
                record_event(
                    "offer.updated", account_id=user.pk, now=timezone.now(),
                    offer_id=str(number), provider_id="1", version=1, is_active=True,
                )  # fmt: skip
            check_until(goal)

        try:
            record_and_check(20)
            fresh = command("rotate_webhook_secret", str(endpoint.pk))["secret"]
            record_and_check(20)  # the receiver has only the old secret
            verifier.secrets.append(fresh)
            record_and_check(20)
            send_test(endpoint, now=timezone.now())  # a success shows that the receiver has the new secret
            check_until(len(checked) + 1)
            verifier.secrets = [fresh]
            record_and_check(20)
        finally:
            worker.stop()
            running.join(timeout=PATIENCE_SECONDS)
    assert checked == [True] * len(checked)
