"""Without a standby every COMMIT waits. Writers get 503 in the end; readers do not wait."""

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
    """Require an acknowledgment by a standby that does not exist."""

    def say(name):
        with server.connect() as session:
            session.execute(ACKNOWLEDGED_BY.format(name))
            session.execute("SELECT pg_reload_conf()")

    say("nobody")
    try:
        yield
    finally:
        say("")


def send_request(port, key, method, path, body=None, head=()):
    """Send a request; return its status, its body, and whether it has `Retry-After`."""
    raw = json.dumps(body).encode() if body is not None else b""
    headers = [f"X-API-Key: {key}"] if key else []
    answer = exchange(port, request(method, path, raw, *headers, "Content-Type: application/json", *head))
    return status_of(answer), json.loads(body_of(answer)), b"\r\nRetry-After: " in answer


def test_without_a_standby_writers_get_503_and_readers_do_not_wait(inhabited, tmp_path):
    me, key = inhabited.account
    once = f"Idempotency-Key: {uuid.uuid4()}"
    wanted = {"consumer_id": str(me), "offer_id": 1, "provider_id": 1, "application_data": {"key": once}}
    report = {"user_id": str(me), "report_type": "credit", "report_data": "kept or not"}
    sent = {}
    with cluster(data=inhabited.data) as server:
        var = inhabited.secrets(tmp_path)
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
                # Reads by the same account: each call is counted, and marks the key as used.
                read = [send_request(port, key, "GET", "/v1/applications") for _ in range(3)]
                read += [send_request(ledger, "", "GET", "/blocks") for _ in range(3)]
                for thread in threads:
                    thread.join()
            # Until its session ends, a write that got 503 still holds the idempotency key.
            _wait_for_commits(server, 0)
            again = [send_request(port, key, "POST", "/v1/applications", wanted, [once]) for _ in range(2)]
            anchored = [send_request(ledger, "", "POST", "/anchor", report) for _ in range(2)]
        with server.connect() as session:
            kept = session.execute("SELECT count(*) FROM credit_application").fetchone()[0]
            hashes = session.execute("SELECT encode(hash, 'hex') FROM ledger_entry").fetchall()
    assert [item[0] for item in read] == [200] * 6
    assert (second[0], second[1]["code"]) == (409, "E3010")
    assert {name: (item[0], item[1]["code"]) for name, item in sent.items()} == {
        "application": (503, "E5030"), "anchor": (503, "E7002"),
    }  # fmt: skip
    assert all(may_be_repeated for _, _, may_be_repeated in sent.values()), sent
    # The unknown writes were committed: the same request returns them, and repeats nothing.
    assert [item[0] for item in again] == [201, 201]
    assert again[0][1] == again[1][1]
    assert kept == 1
    assert [item[0] for item in anchored] == [200, 200]
    assert hashes == [(hashlib.sha256(b"kept or not").hexdigest(),)]


def _wait_for_commits(server, count):
    """Wait until exactly `count` sessions wait for a standby."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with server.connect() as session:
        wait_until(lambda: session.execute(waiting).fetchone()[0] == count)
