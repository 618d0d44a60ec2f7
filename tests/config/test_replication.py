"""A real streaming replica behind a real server: it is read from, it may fail, and nobody reads what is old."""

import http.client
import json
import time
from uuid import uuid4

import psycopg
import pytest

from tests import clusters
from tests.config.server import gunicorn

pytestmark = pytest.mark.slow  # it starts a cluster and a server

BODY = {"offer_id": 1, "provider_id": 1, "application_data": {"n": 1}}
WAIT_SECONDS = 60


class Caller:
    """Calls a server with an API key, each time through a new connection."""

    def __init__(self, port, key):
        self.port, self.key = port, key

    def __call__(self, method, path, body=None):
        """Send one request; return its status and document."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"X-API-Key": self.key, "Content-Type": "application/json", "Idempotency-Key": str(uuid4())}
        connection.request(method, f"/v1{path}", json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        status, document = answer.status, json.loads(answer.read() or b"null")
        connection.close()
        return status, document


def reads_of(server):
    """Return how often a server has looked applications up."""
    with psycopg.connect(server.address("platform"), autocommit=True) as connection:
        query = "SELECT coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'credit_application'"
        return connection.execute(query).fetchone()[0]


def read_until_the_replica_answers(call, path, replica):
    """Read until the replica's statistics show that it was asked."""
    before, until = reads_of(replica), time.monotonic() + WAIT_SECONDS
    while reads_of(replica) <= before:
        assert time.monotonic() < until, "the replica was never read from"
        assert call("GET", path)[0] == 200
        time.sleep(0.1)


@pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())
def test_a_streaming_replica_serves_reads_and_may_fail(inhabited, tmp_path):
    me, key = inhabited.account
    folder = inhabited.secrets(tmp_path)
    with clusters.primary_and_replica(inhabited.data) as (primary, replica), clusters.redis_server() as redis:
        url, other = primary.address("platform"), replica.address("platform")
        with gunicorn(url, folder, DATABASE_REPLICA_URLS=other, REDIS_URL=redis) as port:
            call = Caller(port, key)
            status, made = call("POST", "/applications", {**BODY, "consumer_id": str(me)})
            assert status == 201
            path = f"/applications/{made['id']}"
            read_until_the_replica_answers(call, path, replica)

            for number in range(20):
                assert call("PUT", path, {"updated_by": "me", "notes": f"note {number}"})[0] == 200
                status, shown = call("GET", path)
                assert (status, shown["notes"]) == (200, f"note {number}")

            replica.stop()
            assert [call("GET", path)[0] for _ in range(20)] == [200] * 20
            replica.start()
            read_until_the_replica_answers(call, path, replica)

            # Promoted, it is a database of its own: whatever happens there is not what happened here.
            with psycopg.connect(other, autocommit=True) as connection:
                connection.execute("SELECT pg_promote()")
                connection.execute("UPDATE credit_application SET notes = 'elsewhere'")
            until = time.monotonic() + WAIT_SECONDS
            while call("GET", path)[1]["notes"] == "elsewhere":
                assert time.monotonic() < until, "a promoted replica is read from for ever"
                time.sleep(0.2)
