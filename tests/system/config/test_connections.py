"""Requests after PostgreSQL has closed idle database connections."""

import psycopg
import pytest
from django.utils import timezone

from identity.access.keys import create_api_key
from tests.databases import own_database_url
from tests.system.server import exchange, gunicorn, request, status_of

pytestmark = pytest.mark.usefixtures("needs_postgresql")
SESSIONS = "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database() AND client_port IS NOT NULL"


def test_requests_succeed_after_the_database_closed_their_connections(committed, user, settings, tmp_path):
    key = create_api_key(owner=user, name="n", scopes=None, now=timezone.now())
    get = request("GET", "/v1/applications", b"", f"X-API-Key: {key.key}")
    with psycopg.connect(own_database_url(), autocommit=True) as other:
        before = set(other.execute(SESSIONS).fetchone()[0])
        secrets = {"SECRET_KEY": settings.SECRET_KEY, "FIELD_ENCRYPTION_KEYS": ",".join(settings.FIELD_ENCRYPTION_KEYS)}
        with gunicorn(own_database_url(), tmp_path, threads=1, **secrets) as port:
            assert status_of(exchange(port, get)) == 200
            opened = set(other.execute(SESSIONS).fetchone()[0]) - before
            assert opened
            for pid in opened:
                other.execute("SELECT pg_terminate_backend(%s, 120000)", [pid])
            assert [status_of(exchange(port, get)) for _ in range(3)] == [200] * 3
            assert not opened & set(other.execute(SESSIONS).fetchone()[0])
