"""GET /health and /stats (specification section 4.3)."""

import threading

import pytest
from django.db import OperationalError

from config.ops.health import Checkup
from ledger import guard, log, status
from tests.ledger.conftest import seal_reports

# Health is asked in a thread of its own, which sees what is committed.
pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.urls("ledger.urls")]


def test_an_empty_node_is_healthy(client):
    response = client.get("/health")
    assert response.status_code == 200
    assert response.json() == {"status": "healthy", "block_height": 0, "is_syncing": False, "peers": 0}


def test_the_numbers_are_those_of_the_log(client):
    seal_reports(["a", "b"])
    seal_reports(["c"])
    assert client.get("/health").json()["block_height"] == 2
    assert client.get("/stats").json() == {"block_height": 2, "total_hashes": 3, "is_syncing": False, "peers": 0}


def test_waiting_entries_show_as_syncing(client, monkeypatch):
    monkeypatch.setattr(status.group_commit, "_led", True)
    assert client.get("/health").json()["is_syncing"] is True
    assert client.get("/stats").json()["is_syncing"] is True


def test_a_node_behind_its_guard_is_degraded(client):
    seal_reports(["a"])
    guard.advance(guard.Mark(2, bytes(32)))
    response = client.get("/health")
    assert (response.status_code, response.json()["status"]) == (200, "degraded")


def test_a_node_without_its_database_answers_in_the_same_shape(client, monkeypatch):
    def broken():
        raise OperationalError("password authentication failed for host db.internal")

    monkeypatch.setattr(log, "read_head", broken)
    response = client.get("/health")
    assert response.status_code == 503
    assert response.json() == {"status": "degraded", "block_height": 0, "is_syncing": False, "peers": 0}


def test_a_hanging_database_is_reported_within_the_deadline(client, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(status, "_checkup", Checkup(lambda: released.wait(30)))
    monkeypatch.setattr(status, "CHECK_SECONDS", 0.05)
    response = client.get("/health")
    released.set()
    assert (response.status_code, response.json()["status"]) == (503, "degraded")
