"""`manage.py serve_metrics`: request counts over all processes, and values from the database."""

import os
import signal
import socket
import subprocess
import sys

import pytest
from django.test import Client

from config.ops import request_counts
from tests.processes import run_python, silent_port, wait_until
from tests.system.server import (
    body_of,
    environment_of,
    exchange,
    gunicorn,
    metrics_server,
    request,
    scrape,
    status_of,
    workers_of,
)  # fmt: skip


def count_of(values, route="/v1/openapi.json", status=200, service="platform"):
    """Return the counted GET requests of a route."""
    labels = f'method="GET",route="{route}",service="{service}",status="{status}"'
    return values.get(f"platform_requests_total{{{labels}}}", 0)


def send_gets(port, times, target="/v1/openapi.json"):
    """Send GET requests over new connections; return the set of statuses."""
    return {status_of(exchange(port, request("GET", target))) for _ in range(times)}


class TestCounts:
    def test_request_counts_include_live_and_killed_workers_until_their_server_stops(self, server):
        database, folder = server
        with gunicorn(database, folder, workers=2) as port, metrics_server(database, folder) as watcher:
            assert send_gets(port, 30) == {200}
            number = 30
            while len(list(folder.glob("metrics/*/histogram_*.db"))) < 2:  # the kernel chooses which worker responds
                assert send_gets(port, 30) == {200}
                number += 30
            assert send_gets(port, 5, "/v1/nowhere/ada") == {404}
            values = scrape(watcher)
            assert count_of(values) == number
            assert count_of(values, "unmatched", 404) == 5
            timed = 'method="GET",route="/v1/openapi.json",service="platform"'
            assert values[f"platform_request_duration_seconds_count{{{timed}}}"] == number
            assert values[f'platform_request_duration_seconds_bucket{{le="+Inf",{timed}}}'] == number

            killed = workers_of(port)
            for worker in killed:
                os.kill(worker, signal.SIGKILL)
            wait_until(lambda: len(set(workers_of(port)) - set(killed)) == 2)
            assert send_gets(port, 20) == {200}
            values = scrape(watcher)
            assert count_of(values) == number + 20
            assert values['platform_requests_in_flight{service="platform"}'] >= 0

            with gunicorn(database, folder, module="ledger.wsgi", SERVICE="ledger") as ledger:
                assert send_gets(ledger, 3, "/stats") == {200}
                values = scrape(watcher)
                assert (count_of(values), count_of(values, "/stats", service="ledger")) == (number + 20, 3)
            values = scrape(watcher)
            assert (count_of(values), count_of(values, "/stats", service="ledger")) == (number + 20, 0)
        assert [path.name for path in (folder / "metrics").iterdir()] == []

    def test_metrics_on_the_public_port_of_a_service_return_404(self, client, db, settings):
        assert client.get("/metrics").status_code == 404
        settings.ROOT_URLCONF = "ledger.urls"
        assert Client().get("/metrics").status_code == 404

    @pytest.mark.parametrize("is_on", [True, False])
    def test_a_server_with_metrics_off_or_without_a_folder_stores_no_request_counts(self, tmp_path, monkeypatch, is_on):
        monkeypatch.setenv("VAR_DIR", str(tmp_path))
        monkeypatch.setenv("METRICS", str(int(is_on)))
        monkeypatch.setenv(request_counts.FOLDER_VARIABLE, "")
        if is_on:
            (tmp_path / "metrics").write_text("in the way")
        request_counts.open_folder()
        assert not os.environ.get(request_counts.FOLDER_VARIABLE)
        assert not (tmp_path / "metrics").is_dir()

    def test_a_process_without_metrics_does_not_load_prometheus_client(self, server):
        code = (
            "import django, sys; django.setup()\n"
            "from django.test import Client\n"
            "print(Client().get('/v1/openapi.json', headers={'host': 'localhost'}).status_code)\n"
            "print('prometheus_client' in sys.modules)\n"
        )
        done = run_python(environment_of(*server, DJANGO_SETTINGS_MODULE="config.settings"), "-c", code)
        assert done.stdout.split() == ["200", "False"], done.stderr

    def test_request_counts_of_a_dead_server_are_removed(self, tmp_path):
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        left = tmp_path / "metrics" / str(ended.pid)
        left.mkdir(parents=True)
        (left / "counter_0.db").write_bytes(bytes(4096))
        assert request_counts.live_files(tmp_path / "metrics") == []
        code = (
            "import os; from pathlib import Path; from config.ops import request_counts\n"
            "request_counts.open_folder(); folder = Path(os.environ['PROMETHEUS_MULTIPROC_DIR'])\n"
            "(folder / 'counter_0.db').touch(); print(request_counts.live_files(folder.parent))\n"
        )
        done = run_python({"VAR_DIR": str(tmp_path)}, "-c", code)
        assert "counter_0.db" in done.stdout, done.stderr
        assert not left.exists()


class TestServer:
    @pytest.fixture(scope="class")
    def watcher(self, server):
        """The port of a metrics server on an IPv6 address, with an unreachable database of the ledger."""
        gone = "postgres://u:p@127.0.0.1:1/none"
        options = {"METRICS_HOST": "::", "ALLOWED_HOSTS": "scraped.example", "LEDGER_DATABASE_URL": gone}
        with metrics_server(*server, **options) as port:
            yield port

    def test_metrics_server_accepts_only_read_requests_to_its_own_hosts(self, watcher):
        allowed_hosts = ("127.0.0.1", "localhost:8002", "[::1]:8002", socket.gethostname(), "scraped.example")
        assert send_gets(watcher, 1, "/") == send_gets(watcher, 1, "/metrics/") == {404}
        statuses = {status_of(exchange(watcher, request(method, "/health"))) for method in ("GET", "HEAD", "OPTIONS")}
        statuses.add(status_of(exchange(watcher, request("GET", "/health", version="HTTP/1.0", host=None))))
        assert statuses == {503}  # the database of the ledger does not respond
        assert status_of(exchange(watcher, request("POST", "/metrics", b"x"))) == 501
        answer = exchange(watcher, request("GET", "/metrics?a=b"))
        assert b"Content-Type: text/plain; version=0.0.4" in answer
        assert b'platform_info{python="' in body_of(answer)
        for host in allowed_hosts:
            assert status_of(exchange(watcher, request("GET", "/metrics", host=host))) == 200, host
        for host in ("rebound.example", "localhost.rebound.example:8002", "", None, "127.0.0.1.rebound.example"):
            for target in ("/metrics", "/health"):
                answer = exchange(watcher, request("GET", target, host=host))
                assert status_of(answer) == 400, host
                assert b"platform_" not in answer

    def test_serve_metrics_on_a_port_in_use_prints_a_one_line_error(self, server):
        with silent_port() as port:
            done = run_python({"VAR_DIR": str(server[1]), "METRICS_PORT": str(port)}, "manage.py", "serve_metrics")
        assert done.returncode == 1
        assert done.stderr.startswith(f"CommandError: Cannot listen on 127.0.0.1:{port} (Address already in use). ")
        assert done.stderr.endswith(" Set METRICS_PORT or METRICS_HOST.\n")
        assert done.stderr.count("\n") == 1

    def test_metrics_report_an_unresponsive_database_without_waiting(self, tmp_path):
        with silent_port() as silent, metrics_server(f"postgres://u:p@127.0.0.1:{silent}/none", tmp_path) as port:
            for _ in range(3):
                values = scrape(port)
                assert values['platform_database_up{database="default"}'] == 0
                assert "platform_payments_unknown" not in values

    def test_metrics_with_an_unreachable_ledger_database_contain_all_other_values(self, watcher):
        values = scrape(watcher)
        assert values['platform_database_up{database="default"}'] == 1
        assert values['platform_database_up{database="ledger"}'] == 0
        assert "platform_payments_unknown" in values
        assert "platform_ledger_height" not in values
