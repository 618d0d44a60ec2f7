"""Connections that the database server has ended while nobody used them."""

import psycopg
import pytest
from django.db import connection

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
