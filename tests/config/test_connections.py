"""Connections that the database server has ended while nobody used them."""

import threading

import psycopg
import pytest
from django.core.signals import request_finished, request_started
from django.db import OperationalError, connection, transaction

from config.api import connections as watched
from tests.config.server import own_database_url

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql")


@pytest.fixture(autouse=True)
def _looked_at_each_time(monkeypatch):
    monkeypatch.setattr(watched, "LOOK_SECONDS", 0.0)


def end_session(pid):
    """End a session as a restart or a failover does."""
    with psycopg.connect(own_database_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def session():
    """Return the server's process id of this thread's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def test_a_request_on_a_connection_that_was_ended_meanwhile_is_answered(api):
    assert api.read("/applications").status_code == 200
    before = session()
    end_session(before)
    assert api.read("/applications").status_code == 200
    assert session() != before


def test_a_connection_that_lives_stays_also_when_the_server_has_said_something(api):
    before = session()
    with connection.cursor() as cursor:
        cursor.execute("LISTEN anything")
    with psycopg.connect(own_database_url(), autocommit=True) as other:
        other.execute("NOTIFY anything")
    watched.drop_dead_connections()
    assert api.read("/applications").status_code == 200
    assert session() == before


@pytest.mark.parametrize("around", [request_started, request_finished], ids=["before", "after"])
def test_a_connection_that_failed_is_closed_around_a_request(around):
    before = session()
    end_session(before)
    with pytest.raises(OperationalError):
        session()
    assert connection.connection is not None
    around.send(sender=None)
    assert connection.connection is None
    assert session() != before


def test_a_connection_past_its_time_is_closed_and_one_in_a_transaction_is_not():
    before = session()
    connection.close_at = 0.0
    with transaction.atomic():
        watched.renew_connections()
        assert session() == before
    watched.renew_connections()
    assert connection.connection is None


def test_connections_of_other_threads_are_left_alone():
    before = session()
    connection.close_at = 0.0
    thread = threading.Thread(target=watched.renew_connections)
    thread.start()
    thread.join()
    assert session() == before
