"""Test that callers get a retryable 503 and workers wait while the database is unavailable, demoted, or silent."""

import threading
import time

import psycopg
import pytest
from django.core.management import call_command
from django.db import (
    DatabaseError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    connections,
    transaction,
)

from config.api.errors import as_api_error
from config.api.rate_limits import take
from config.core import deadline
from config.core.databases import unawaited
from config.ops.commands import WorkerCommand


def demoted(sqlstate="25006"):
    """Return Django's error for a write on a demoted server."""
    error = InternalError("cannot execute INSERT in a read-only transaction")
    error.__cause__ = type("FromTheDriver", (Exception,), {"sqlstate": sqlstate})()
    return error


def caused(error, cause):
    error.__cause__ = cause
    return error


CODES = [
    (demoted(), "E5030"), (demoted("25P02"), "E5000"), (InternalError("x"), "E5000"),
    (caused(InternalError("x"), psycopg.InternalError("received 2 results from command 'BEGIN'")), "E5030"),
    (caused(DatabaseError("x"), psycopg.DatabaseError("the connection broke")), "E5030"),
    (caused(DatabaseError("x"), psycopg.errors.lookup("42601")("a mistake of ours")), "E5000"),
    (DatabaseError("x"), "E5000"),
]  # fmt: skip


def test_only_errors_of_a_demoted_or_lost_database_primary_are_classified_as_outages():
    for error, code in CODES:
        assert as_api_error(error).code == code, (error, code)


@pytest.fixture
def read_only(committed, needs_postgresql, api):
    """Make the session of this thread reject writes, like that of a demoted primary."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    yield
    connection.close()


def test_write_on_a_demoted_database_primary_returns_a_retryable_503(read_only, api, user, key, no_rate_limits):
    body = {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 1, "application_data": {}}
    refused = api.send("/applications", body, key=key)
    assert (refused.status_code, refused.json()["code"], refused.headers["Retry-After"]) == (503, "E5030", "1")
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = off")
    responses = [api.send("/applications", body, key=key) for _ in range(2)]
    assert [response.status_code for response in responses] == [201, 201]
    assert responses[0].json() == responses[1].json()


class Worker(WorkerCommand):
    """Raises one error after another; workers wait after all of them except for the last."""

    _trouble_seconds = 0.0

    def __init__(self, *errors):
        super().__init__()
        self.errors = iter(errors)

    def work(self, *, now):
        raise next(self.errors)


def test_workers_survive_an_unavailable_or_demoted_database(db):
    with pytest.raises(InternalError, match="other"):
        call_command(Worker(OperationalError(), InterfaceError(), demoted(), InternalError("other")))


def test_writes_in_an_unawaited_block_use_asynchronous_commit(committed, needs_postgresql):
    def awaits():
        with connection.cursor() as cursor:
            cursor.execute("SHOW synchronous_commit")
            return cursor.fetchone()[0]

    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    with unawaited():
        assert awaits() == "off"
    with transaction.atomic():
        assert take("b", 1, 2) == 2
        assert awaits() == "off"
    assert (take("b", 1, 3), awaits()) == (5, "on")


def test_only_requests_that_wait_too_long_for_postgresql_time_out(committed, needs_postgresql):
    ended, over, ready = {}, threading.Event(), threading.Barrier(3)

    def serve(name, work):
        def view(_request):
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                ready.wait()
                try:
                    work(cursor)
                    cursor.execute("SELECT 2")
                    ended[name] = "answered"
                except OperationalError as error:
                    ended[name] = as_api_error(error).code

        deadline.DeadlineMiddleware(view)(None)
        connections.close_all()

    works = {"waiting": lambda cursor: cursor.execute("SELECT pg_sleep(60)"), "busy": lambda _cursor: over.wait(60)}
    threads = [threading.Thread(target=serve, args=each) for each in works.items()]
    for thread in threads:
        thread.start()
    ready.wait()
    assert deadline.cut_off(began_before=time.monotonic() - 60) == 0
    while "waiting" not in ended:
        deadline.cut_off(began_before=time.monotonic())
        time.sleep(0.01)
    over.set()
    for thread in threads:
        thread.join()
    assert ended == {"waiting": "E5030", "busy": "answered"}
