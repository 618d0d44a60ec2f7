"""Rate limits with counters in Redis."""

import contextlib
import shutil
import subprocess
import tempfile

import pytest

from config.api.models import RateCounter
from tests.config.test_rate_limits import Worker, at  # noqa: F401  a fixture
from tests.processes import PATIENCE_SECONDS, free_port, listens, wait_until


@contextlib.contextmanager
def redis_server():
    """Run a Redis server without persistence; yield its URL."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: listens(port))
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()
            server.wait(PATIENCE_SECONDS)


@pytest.mark.django_db
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_workers_with_rate_counters_in_redis_share_the_limit(at, settings, monkeypatch):
    with redis_server() as address:
        at(address)
        settings.RATE_LIMITS = {"read": 10}
        crowd = [Worker() for _ in range(3)]
        assert sum(crowd[turn % 3].spend(monkeypatch, "a") for turn in range(40)) == 10
    assert not RateCounter.objects.exists()
