"""Connections that the database server has ended while nobody used them."""

import psycopg
import pytest
from django.db import close_old_connections, connection

from tests.config.server import own_database_url

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql")


def session():
    """Return the server's process id of this thread's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def test_a_request_on_a_connection_that_was_ended_meanwhile_is_answered(api):
    assert api.read("/applications").status_code == 200
    before = session()
    with psycopg.connect(own_database_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [before])
    close_old_connections()  # as Django does when a request begins, but not for the test client's
    assert api.read("/applications").status_code == 200
    assert session() != before
