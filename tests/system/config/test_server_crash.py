"""A real server with PostgreSQL when a worker dies, and when the database has no free connection."""

import json
import os
import signal
import threading
import uuid

import pytest
from django.db import connection, transaction

from config.api.models import IdempotencyRecord
from config.webhooks.models import Event
from credit.models import Application
from tests.databases import own_database_url
from tests.factories import UserFactory
from tests.identity.support import issue
from tests.processes import PATIENCE_SECONDS, wait_until
from tests.system.server import body_of, exchange, gunicorn, request, status_of, workers_of

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql")


@pytest.fixture
def keys(settings):
    """The encryption keys of the test process, in the form of the environment variable."""
    return ",".join(settings.FIELD_ENCRYPTION_KEYS)


def count_locks(condition):
    """Return the number of locks in the test's database that match an SQL condition."""
    with connection.cursor() as cursor:
        own_database = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        cursor.execute(f"SELECT count(*) FROM pg_locks WHERE {own_database} AND {condition}")
        return cursor.fetchone()[0]


def test_request_retried_after_the_crash_of_a_server_process_is_executed_only_once(tmp_path, keys):
    user = UserFactory()
    api_key, key = issue(user).key, str(uuid.uuid4())
    body = json.dumps({"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 2}).encode()
    post = request(
        "POST", "/v1/applications", body, "Content-Type: application/json", f"X-API-Key: {api_key}",
        f"Idempotency-Key: {key}",
    )  # fmt: skip
    with gunicorn(own_database_url(), tmp_path, FIELD_ENCRYPTION_KEYS=keys) as port:
        assert status_of(exchange(port, request("GET", "/v1/auth/me", b"", f"X-API-Key: {api_key}"))) == 200
        with transaction.atomic(), connection.cursor() as cursor:
            # The worker writes the event last. It waits there, after its other writes and before the commit.
            cursor.execute("LOCK TABLE webhooks_event IN ACCESS EXCLUSIVE MODE")
            answers = []
            thread = threading.Thread(target=lambda: answers.append(exchange(port, post)))
            thread.start()
            wait_until(lambda: count_locks("NOT granted"))
            (worker,) = workers_of(port)
            os.kill(worker, signal.SIGKILL)
            thread.join(PATIENCE_SECONDS)
        assert answers == [b""]
        wait_until(lambda: not count_locks("locktype = 'advisory'"))
        assert Application.objects.count() == IdempotencyRecord.objects.count() == 0
        first, second = exchange(port, post), exchange(port, post)
    assert (status_of(first), status_of(second)) == (201, 201)
    assert body_of(first) == body_of(second)
    assert b"idempotent-replayed: true" in second.lower()
    assert Application.objects.count() == Event.objects.filter(type="application.created").count() == 1


def test_requests_without_a_free_database_connection_return_503(tmp_path, keys):
    role = f"crowded_{uuid.uuid4().hex[:8]}"
    api_key = issue(UserFactory()).key
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0")
    try:
        with gunicorn(own_database_url(role), tmp_path, FIELD_ENCRYPTION_KEYS=keys) as port:
            answer = exchange(port, request("GET", "/v1/auth/me", b"", f"X-API-Key: {api_key}"))
            assert status_of(answer) == 503
            assert json.loads(body_of(answer))["code"] == "E5030"
            assert b"retry-after: 1" in answer.lower()
            assert status_of(exchange(port, request("GET", "/v1/health"))) == 503
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP ROLE {role}")
