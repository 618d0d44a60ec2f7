"""Test GET /health and /stats (specification section 4.3)."""

import threading

import pytest
from django.db import OperationalError

from config.ops.health import Checkup
from ledger import guard, log, status
from tests.ledger.conftest import seal_reports

# The health check runs in a separate thread, which reads only committed rows.
pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.urls("ledger.urls")]


def test_ledger_health_and_stats_count_blocks_and_hashes(client):
    response = client.get("/health")
    assert response.status_code == 200
    assert response.json() == {"status": "healthy", "block_height": 0, "is_syncing": False, "peers": 0}
    seal_reports(["a", "b"])
    seal_reports(["c"])
    assert client.get("/health").json()["block_height"] == 2
    assert client.get("/stats").json() == {"block_height": 2, "total_hashes": 3, "is_syncing": False, "peers": 0}


def test_ledger_health_reports_waiting_entries_as_syncing(client, monkeypatch):
    monkeypatch.setattr(status.group_commit, "_led", True)
    assert client.get("/health").json()["is_syncing"] is True
    assert client.get("/stats").json()["is_syncing"] is True


def test_ledger_health_is_degraded_if_the_log_is_older_than_the_guard_file(client):
    seal_reports(["a"])
    guard.advance(guard.Mark(2, bytes(32)))
    response = client.get("/health")
    assert (response.status_code, response.json()["status"]) == (200, "degraded")


def test_ledger_health_without_a_database_returns_503_with_the_same_fields(client, monkeypatch):
    def broken():
        raise OperationalError("password authentication failed for host db.internal")

    monkeypatch.setattr(log, "read_head", broken)
    response = client.get("/health")
    assert response.status_code == 503
    assert response.json() == {"status": "degraded", "block_height": 0, "is_syncing": False, "peers": 0}


def test_ledger_health_reports_a_hanging_database_within_the_deadline(client, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(status, "_checkup", Checkup(lambda: released.wait(30)))
    monkeypatch.setattr(status, "CHECK_SECONDS", 0.05)
    response = client.get("/health")
    released.set()
    assert (response.status_code, response.json()["status"]) == (503, "degraded")
