"""Rate limits with counters in Redis."""

import contextlib
import shutil
import subprocess
import tempfile

import pytest
from redis import Redis
from redis.exceptions import RedisError

from config.api.models import RateCounter
from tests.config.test_rate_limits import Worker, at  # noqa: F401  a fixture
from tests.processes import PATIENCE_SECONDS, free_port, wait_until


@contextlib.contextmanager
def redis_server():
    """Run a Redis server without persistence. Yields its URL when the server answers commands."""
    port = free_port()
    address = f"redis://127.0.0.1:{port}/0"
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        server = subprocess.Popen(command)  # pytest prints its output if the test fails
        try:
            wait_until(lambda: answers(address))
            yield address
        finally:
            server.terminate()
            server.wait(PATIENCE_SECONDS)


def answers(address):
    """Return whether a Redis server stores a value and returns it."""
    with contextlib.suppress(RedisError), Redis.from_url(address) as client:
        return client.set("probe", 1, ex=60) and client.get("probe") == b"1"
    return False


@pytest.mark.django_db
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_workers_with_rate_counters_in_redis_share_the_limit(at, settings, monkeypatch, caplog):
    with redis_server() as address:
        at(address)
        settings.RATE_LIMITS = {"read": 10}
        crowd = [Worker() for _ in range(3)]
        assert sum(crowd[turn % 3].spend(monkeypatch, "a") for turn in range(40)) == 10
        assert (caplog.messages, list(RateCounter.objects.values())) == ([], [])
