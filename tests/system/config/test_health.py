"""Health checks of real servers while the database fails or all threads are busy."""

import json
import socket
import sqlite3
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from django.db import connection

from tests.databases import own_database_url
from tests.processes import manage, run_python, silent_port, wait_until
from tests.system.config.test_server import HEALTH, JSON, error_of
from tests.system.server import body_of, environment_of, exchange, gunicorn, metrics_server, request, status_of


class TestHealth:
    """The response of health checks to problems of the database."""

    @staticmethod
    def unhealthy(port):
        answer = exchange(port, request("GET", HEALTH))
        assert status_of(answer) == 503, answer
        body = json.loads(body_of(answer))
        assert set(body) == {"status", "timestamp", "version"}
        assert body["status"] == "unhealthy"
        return answer

    def test_health_of_a_healthy_server_returns_200(self, port):
        answer = exchange(port, request("GET", HEALTH))
        assert status_of(answer) == 200
        assert json.loads(body_of(answer))["status"] == "healthy"
        assert json.loads(body_of(answer))["version"] == "1.0.0"

    def test_health_returns_503_without_secrets_if_database_is_down_and_log_disk_is_full(self, tmp_path, key):
        with (
            open("/dev/full", "wb") as full_disk,  # noqa: PTH123  a device, not a file
            gunicorn("postgres://dbuser:hunter2@127.0.0.1:1/none", tmp_path, stderr=full_disk) as port,
        ):
            answer = self.unhealthy(port)
            for secret in (b"hunter2", b"dbuser", b"127.0.0.1", b"psycopg", b"Traceback"):
                assert secret not in answer
            unavailable = exchange(port, request("GET", "/v1/auth/me", b"", f"X-API-Key: {key['key']}"))
            error_of(unavailable, 503, "E5030")
            assert b"retry-after: 1" in unavailable.lower()

    def test_health_returns_503_while_all_threads_wait_for_an_unresponsive_database(self, tmp_path, key):
        with silent_port() as silent, both_services(f"postgres://u:p@127.0.0.1:{silent}/none", tmp_path) as ports:
            platform, ledger, watcher = ports
            with ThreadPoolExecutor(4) as callers:
                list(callers.map(self.unhealthy, [platform] * 4))
            with (
                crowd(platform, request("GET", "/v1/auth/me", b"", f"X-API-Key: {key['key']}"), 4),
                crowd(ledger, request("GET", "/stats"), 4),
            ):
                self.assert_unhealthy_status(watcher, "/health")

    def test_health_returns_503_while_all_threads_wait_for_a_frozen_database(
        self, tmp_path, committed, needs_postgresql
    ):
        me, stats = request("GET", "/v1/auth/me", b"", "X-API-Key: ck_test_none"), request("GET", "/stats")
        with freezing_proxy() as (address, frozen), both_services(address, tmp_path) as ports:
            platform, ledger, watcher = ports
            healths = ((platform, HEALTH), (ledger, "/health"), (watcher, "/health"))
            assert {status_of(exchange(platform, me)) for _ in range(6)} == {401}
            assert {status_of(exchange(ledger, stats)) for _ in range(6)} == {200}
            assert [status_of(exchange(port, request("GET", target))) for port, target in healths] == [200] * 3
            frozen.set()
            with crowd(platform, me, 6), crowd(ledger, stats, 6):
                self.assert_unhealthy_status(watcher, "/health")
                self.assert_unhealthy_status(watcher, "/health")
                frozen.clear()
            for port, target in healths:
                wait_until(lambda port=port, target=target: status_of(exchange(port, request("GET", target))) == 200)

    @staticmethod
    def assert_unhealthy_status(port, target):
        """Assert that a health check returns 503."""
        assert status_of(exchange(port, request("GET", target))) == 503

    def test_health_returns_200_while_all_threads_wait_for_a_database_lock(self, server, account, port):
        log_in = json.dumps(dict(zip(("username", "password"), account, strict=True))).encode()
        writer = sqlite3.connect(server[1] / "own.sqlite3", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        try:
            with crowd(port, request("POST", "/v1/auth/token", log_in, JSON), 6), metrics_server(*server) as watcher:
                # Every thread of the server waits, so only the metrics server can respond.
                assert status_of(exchange(watcher, request("GET", "/health"))) == 200
                writer.execute("ROLLBACK")
        finally:
            writer.close()

    def test_health_with_a_read_only_database_is_unhealthy_or_degraded(self, tmp_path, committed, needs_postgresql):
        role = f"reader_{uuid.uuid4().hex[:8]}"
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE ROLE {role} LOGIN SUPERUSER")
            cursor.execute(f"ALTER ROLE {role} SET default_transaction_read_only = on")
        try:
            with gunicorn(own_database_url(role), tmp_path) as port:
                self.unhealthy(port)
            with gunicorn(own_database_url(role), tmp_path, module="ledger.wsgi") as port:
                answer = exchange(port, request("GET", "/health"))
                assert (status_of(answer), json.loads(body_of(answer))["status"]) == (200, "degraded")
        finally:
            with connection.cursor() as cursor:
                cursor.execute(f"DROP ROLE {role}")

    def test_health_with_pending_migrations_returns_503(self, tmp_path):
        database_url = f"sqlite:///{tmp_path}/partial.sqlite3"
        environment = environment_of(database_url, tmp_path, DJANGO_SETTINGS_MODULE="config.settings")
        manage(environment, "migrate", "contenttypes")
        code = (
            "import django; django.setup()\n"
            "from django.test import Client, override_settings\n"
            "def get(path): print(Client().get(path, headers={'host': 'localhost'}).status_code)\n"
            "get('/v1/health')\nwith override_settings(ROOT_URLCONF='ledger.urls'): get('/health')\n"
        )
        assert run_python(environment, "-c", code).stdout.split() == ["503", "503"]


@contextmanager
def both_services(address, folder):
    """Run both services with two threads each, and the metrics server; yield the three ports."""
    with (
        gunicorn(address, folder, threads=2) as platform,
        gunicorn(address, folder, threads=2, module="ledger.wsgi") as ledger,
        metrics_server(address, folder) as watcher,
    ):
        yield platform, ledger, watcher


@contextmanager
def crowd(port, data, number):
    """Send the same request from several clients, which wait for their responses during the block."""
    threads = [threading.Thread(target=exchange, args=(port, data)) for _ in range(number)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    yield
    for thread in threads:
        thread.join()


@contextmanager
def freezing_proxy():
    """Run a proxy to PostgreSQL that forwards nothing while an event is set; yield its URL and the event."""
    frozen, url = threading.Event(), urlsplit(own_database_url())

    def pass_on(source, sink):
        with suppress(OSError):
            while data := source.recv(65_536):
                while frozen.is_set():
                    time.sleep(0.01)
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def serve():
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((url.hostname, url.port))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pass_on, args=pair, daemon=True).start()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(50)
        threading.Thread(target=serve, daemon=True).start()
        here = url._replace(netloc=url.netloc.replace(f":{url.port}", f":{listener.getsockname()[1]}"))
        try:
            yield here.geturl(), frozen
        finally:
            frozen.clear()
            listener.shutdown(socket.SHUT_RDWR)
