"""Test database connections that the server closed while idle, and the session state that a connection retains."""

import psycopg
import pytest
from django.db import OperationalError, close_old_connections, connection, transaction

from identity.models import User
from tests.databases import own_database_url
from tests.factories import UserFactory

pytestmark = pytest.mark.usefixtures("needs_postgresql")


def test_closed_database_connection_is_replaced_before_a_prepared_statement(committed, api):
    assert api.read("/applications").status_code == 200
    connection.cursor().execute("SELECT 1")
    before = connection.connection.info.backend_pid
    with psycopg.connect(own_database_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 120000)", [before])
    close_old_connections()  # Django does this at the start of a request, except with the test client.
    assert api.read("/applications").status_code == 200
    assert connection.connection.info.backend_pid != before


def test_a_connection_lost_during_a_statement_is_replaced_at_the_next_request(committed, api):
    assert api.read("/applications").status_code == 200
    connection.ensure_connection()
    before = connection.connection.info.backend_pid
    with psycopg.connect(own_database_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 120000)", [before])
    with pytest.raises(OperationalError):
        connection.cursor().execute("SELECT 1")
    close_old_connections()
    assert api.read("/applications").status_code == 200
    assert connection.connection.info.backend_pid != before


def cursors_after(rows):
    """Read the first row; return how many cursors are then open in the session."""
    next(rows)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_cursors WHERE name LIKE '_django_curs_%%'")
        return cursor.fetchone()[0]


def test_server_side_cursors_are_used_only_in_a_transaction(committed):
    """Between transactions a pooler gives the session to another client."""
    UserFactory.create_batch(3)
    assert cursors_after(User.objects.iterator(chunk_size=1)) == 0
    with transaction.atomic():
        assert cursors_after(User.objects.iterator(chunk_size=1)) == 1
