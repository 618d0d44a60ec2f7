"""Requests while PostgreSQL has no synchronous standby, so that every COMMIT waits."""

import hashlib
import json
import threading
import uuid
from contextlib import contextmanager

import pytest

from tests import clusters
from tests.bench.faults.cluster import cluster
from tests.processes import wait_until
from tests.system.server import body_of, exchange, gunicorn, request, status_of

pytestmark = pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())
ACKNOWLEDGED_BY = "ALTER SYSTEM SET synchronous_standby_names = '{}'"


@contextmanager
def without_a_standby(server):
    """Configure PostgreSQL to wait for a standby that does not exist, until the block ends."""

    def wait_for_standby(name):
        with server.connect() as session:
            session.execute(ACKNOWLEDGED_BY.format(name))
            session.execute("SELECT pg_reload_conf()")

    wait_for_standby("missing")
    try:
        yield
    finally:
        wait_for_standby("")


def send_request(port, key, method, path, body=None, head=()):
    """Send a request; return status, body, and whether the response has `Retry-After`."""
    raw = json.dumps(body).encode() if body is not None else b""
    headers = [f"X-API-Key: {key}"] if key else []
    answer = exchange(port, request(method, path, raw, *headers, "Content-Type: application/json", *head))
    return status_of(answer), json.loads(body_of(answer)), b"\r\nRetry-After: " in answer


def test_writes_return_503_and_reads_succeed_without_a_database_standby(cluster_with_account, tmp_path):
    me, key = cluster_with_account.account
    once = f"Idempotency-Key: {uuid.uuid4()}"
    wanted = {"consumer_id": str(me), "offer_id": 1, "provider_id": 1, "application_data": {"key": once}}
    report = {"user_id": str(me), "report_type": "credit", "report_data": "kept or not"}
    sent = {}
    with cluster(data=cluster_with_account.data) as server:
        var = cluster_with_account.secrets(tmp_path)
        with (
            gunicorn(server.address(), var, threads=8) as port,
            gunicorn(server.address(), var, threads=8, module="ledger.wsgi") as ledger,
        ):
            with without_a_standby(server):
                writes = {
                    "application": lambda: send_request(port, key, "POST", "/v1/applications", wanted, [once]),
                    "anchor": lambda: send_request(ledger, "", "POST", "/anchor", report),
                }
                threads = [
                    threading.Thread(target=lambda name=name, write=write: sent.update({name: write()}))
                    for name, write in writes.items()
                ]
                for thread in threads:
                    thread.start()
                _wait_for_commits(server, len(writes))
                second = send_request(port, key, "POST", "/v1/applications", wanted, [once])
                # Reads by the same account, although each request updates its counter and the last use of its key.
                read = [send_request(port, key, "GET", "/v1/applications") for _ in range(3)]
                read += [send_request(ledger, "", "GET", "/blocks") for _ in range(3)]
                for thread in threads:
                    thread.join()
            # After 503, the session of a write locks the idempotency key until the COMMIT ends.
            _wait_for_commits(server, 0)
            again = [send_request(port, key, "POST", "/v1/applications", wanted, [once]) for _ in range(2)]
            anchored = [send_request(ledger, "", "POST", "/anchor", report) for _ in range(2)]
        with server.connect() as session:
            stored = session.execute("SELECT count(*) FROM credit_application").fetchone()[0]
            hashes = session.execute("SELECT encode(hash, 'hex') FROM ledger_entry").fetchall()
    assert [item[0] for item in read] == [200] * 6
    assert (second[0], second[1]["code"]) == (409, "E3010")
    assert {name: (item[0], item[1]["code"]) for name, item in sent.items()} == {
        "application": (503, "E5030"), "anchor": (503, "E7002"),
    }  # fmt: skip
    assert all(may_be_repeated for _, _, may_be_repeated in sent.values()), sent
    # The writes were committed after the 503 responses, so that the same requests return the stored responses.
    assert [item[0] for item in again] == [201, 201]
    assert again[0][1] == again[1][1]
    assert stored == 1
    assert [item[0] for item in anchored] == [200, 200]
    assert hashes == [(hashlib.sha256(b"kept or not").hexdigest(),)]


def _wait_for_commits(server, count):
    """Wait until exactly `count` sessions wait for a standby."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with server.connect() as session:
        wait_until(lambda: session.execute(waiting).fetchone()[0] == count)
