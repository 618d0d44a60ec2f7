"""`manage.py serve_metrics`: the sums over all processes, and what the apps read in the database."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from config.core.ids import uuid7
from config.ops import request_counts
from config.ops.metrics import Scrape
from config.ops.readings import COUNT_MAX, measures
from config.webhooks.models import Delivery, Endpoint, Event
from payments.cards.models import UNKNOWN, Payment
from tests.config.server import (
    body_of,
    exchange,
    gunicorn,
    metrics_server,
    request,
    scrape,
    status_of,
    workers_of,
)  # fmt: skip
from tests.factories import UserFactory
from tests.processes import ROOT, free_port, silent_port


def counted(values, route="/v1/openapi.json", status=200, service="platform"):
    """Return how many GETs of a route were counted."""
    labels = f'method="GET",route="{route}",service="{service}",status="{status}"'
    return values.get(f"platform_requests_total{{{labels}}}", 0)


def ask(port, times, target="/v1/openapi.json"):
    """Send a GET so many times, each over a connection of its own; the statuses."""
    return {status_of(exchange(port, request("GET", target))) for _ in range(times)}


def run(*arguments, **environment):
    """Run Python in an environment that holds nothing else; how it ended, and what it printed."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env={"PATH": os.environ["PATH"], **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


class TestCounts:
    def test_they_add_up_over_all_workers_and_outlive_each(self, server):
        database, folder = server
        with gunicorn(database, folder, workers=2) as port, metrics_server(database, folder) as watcher:
            assert ask(port, 30) == {200}
            assert ask(port, 5, "/v1/nowhere/ada") == {404}
            values = scrape(watcher)
            assert counted(values) == 30
            assert counted(values, "unmatched", 404) == 5
            assert len(list(folder.glob("metrics/*/counter_*.db"))) == 2
            timed = 'method="GET",route="/v1/openapi.json",service="platform"'
            assert values[f"platform_request_duration_seconds_count{{{timed}}}"] == 30
            bucket = 'le="+Inf",method="GET",route="/v1/openapi.json",service="platform"'
            assert values[f"platform_request_duration_seconds_bucket{{{bucket}}}"] == 30

            killed = workers_of(port)
            for worker in killed:
                os.kill(worker, signal.SIGKILL)
            until = time.monotonic() + 60
            while len(set(workers_of(port)) - set(killed)) < 2 and time.monotonic() < until:
                time.sleep(0.1)
            assert ask(port, 20) == {200}
            values = scrape(watcher)
            assert counted(values) == 50
            assert values['platform_requests_in_flight{service="platform"}'] >= 0

    def test_two_servers_are_told_apart_and_leave_nothing_behind(self, server):
        database, folder = server
        with gunicorn(database, folder) as port, metrics_server(database, folder) as watcher:
            with gunicorn(database, folder, module="ledger.wsgi", SERVICE="ledger") as ledger:
                assert ask(port, 2) == {200}
                assert ask(ledger, 3, "/stats") == {200}
                values = scrape(watcher)
                assert (counted(values), counted(values, "/stats", service="ledger")) == (2, 3)
            values = scrape(watcher)
            assert (counted(values), counted(values, "/stats", service="ledger")) == (2, 0)
        assert [path.name for path in (folder / "metrics").iterdir()] == []

    def test_neither_service_shows_them_to_the_public(self, client, db, settings):
        assert client.get("/metrics").status_code == 404
        settings.ROOT_URLCONF = "ledger.urls"
        assert Client().get("/metrics").status_code == 404

    def test_nothing_is_counted_when_nobody_wants_it(self, new_server):
        with gunicorn(*new_server, METRICS="0") as port:
            assert ask(port, 1) == {200}
            assert not (new_server[1] / "metrics").exists()

    def test_a_process_that_does_not_count_does_not_load_what_counts(self, server):
        code = (
            "import django, sys; django.setup()\n"
            "from django.test import Client\n"
            "print(Client().get('/v1/openapi.json', headers={'host': 'localhost'}).status_code)\n"
            "print('prometheus_client' in sys.modules)\n"
        )
        env = {
            "PATH": os.environ["PATH"], "DATABASE_URL": server[0], "VAR_DIR": str(server[1]),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["200", "False"]

    def test_a_folder_that_cannot_be_made_costs_the_counts_only(self, new_server):
        (new_server[1] / "metrics").write_text("in the way")
        with gunicorn(*new_server) as port:
            assert ask(port, 1) == {200}

    def test_what_a_dead_server_left_is_not_shown_and_cleared_away(self, tmp_path):
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
        done = run("-c", code, VAR_DIR=str(tmp_path))
        assert "counter_0.db" in done.stdout, done.stderr
        assert not left.exists()


@pytest.mark.slow  # servers
class TestServer:
    def test_it_serves_one_address_and_counts_its_scrapes(self, server):
        with metrics_server(*server) as port:
            assert ask(port, 1, "/") == ask(port, 1, "/metrics/") == {404}
            assert ask(port, 1, "/health") == {200}
            assert status_of(exchange(port, request("POST", "/metrics", b"x"))) == 501
            answer = exchange(port, request("GET", "/metrics?a=b"))
            assert b"Content-Type: text/plain; version=0.0.4" in answer
            assert b'platform_info{python="' in body_of(answer)

    def test_a_port_that_is_taken_gives_one_clear_line(self, server):
        with silent_port() as port:
            done = run("manage.py", "serve_metrics", VAR_DIR=str(server[1]), METRICS_PORT=str(port))
        assert done.returncode == 1
        assert done.stderr.startswith(f"CommandError: Cannot listen on 127.0.0.1:{port} (Address already in use). ")
        assert done.stderr.endswith(" Set METRICS_PORT or METRICS_HOST.\n")
        assert done.stderr.count("\n") == 1

    def test_a_database_that_is_gone_is_said_so(self, tmp_path):
        with metrics_server("postgres://u:p@127.0.0.1:1/none", tmp_path) as port:
            values = scrape(port)
        assert values['platform_database_up{database="default"}'] == 0
        assert "platform_payments_unknown" not in values

    def test_a_database_that_hangs_keeps_nobody(self, tmp_path):
        with silent_port() as silent, metrics_server(f"postgres://u:p@127.0.0.1:{silent}/none", tmp_path) as port:
            for _ in range(3):
                assert scrape(port)['platform_database_up{database="default"}'] == 0

    def test_a_ledger_database_that_is_gone_does_not_hide_the_other(self, server):
        gone = "postgres://u:p@127.0.0.1:1/none"
        with metrics_server(*server, LEDGER_DATABASE_URL=gone) as port:
            values = scrape(port)
        assert values['platform_database_up{database="default"}'] == 1
        assert values['platform_database_up{database="ledger"}'] == 0
        assert "platform_payments_unknown" in values
        assert "platform_ledger_height" not in values

    def test_make_run_names_a_port_that_is_taken(self, tmp_path):
        with silent_port() as port:
            done = run(
                "-m", "config.ops.supervisor",
                VAR_DIR=str(tmp_path), METRICS_PORT=str(port), PORT=str(free_port()), LEDGER_PORT=str(free_port()),
            )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr == (
            f"Cannot listen on 127.0.0.1:{port} (Address already in use). Choose another: make run METRICS_PORT=…\n"
        )


@pytest.fixture
def read(committed, tmp_path):
    """Take the readings of every app; the values by name."""

    def take():
        lines = [line for line in Scrape(tmp_path).text().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    return take


class TestReadings:
    def test_an_empty_database_reads_as_zeros(self, read):
        values = read()
        assert values.pop('platform_database_up{database="default"}') == 1
        assert values.pop("platform_ledger_may_sign") == 1
        assert {name for name, value in values.items() if value and "info" not in name} == set()
        assert len(values) > 20

    def test_the_outbox_shows_its_length_and_age(self, read):
        user, now = UserFactory(), timezone.now()
        then = now - timedelta(hours=2)
        event = Event.objects.create(account=user, type="claim.created", object={}, created_at=then)
        endpoint = Endpoint.objects.create(
            account=user, url="https://r.example", event_types=["*"], secret="s", failing_since=then,
            created_at=then, updated_at=then,
        )  # fmt: skip
        for minutes in (90, -5):
            Delivery.objects.create(
                id=uuid7(), account=user, endpoint=endpoint, event=event, event_type=event.type,
                due_at=now - timedelta(minutes=minutes), created_at=then, is_redelivery=minutes > 0,
            )  # fmt: skip
        values = read()
        assert values["platform_events_unpublished"] == 1
        assert 7200 <= values["platform_events_unpublished_oldest_seconds"] < 7500
        assert values["platform_webhook_deliveries_pending"] == 2
        assert 7200 <= values["platform_webhook_deliveries_pending_oldest_seconds"] < 7500
        assert 5400 <= values["platform_webhook_deliveries_late_seconds"] < 5700
        assert values["platform_webhook_endpoints_failing"] == 1

    def test_unknown_payments_show_their_number_and_age(self, read):
        then = timezone.now() - timedelta(hours=3)
        for number, status in enumerate([UNKNOWN, UNKNOWN, "Processing", "Failed"]):
            Payment.objects.create(
                user=UserFactory(), amount_cents=1, fee_amount_cents=0, currency="USD", payment_method_id="pm",
                processor="sandbox", processor_key=str(number), method_token="t", status=status, due_at=then,
                created_at=then,
            )  # fmt: skip
        values = read()
        assert (values["platform_payments_unknown"], values["platform_payments_open"]) == (2, 3)
        assert 10_800 <= values["platform_payments_unknown_oldest_seconds"] < 11_100

    def test_the_ledger_shows_its_height(self, read, settings, tmp_path):
        from tests.ledger.conftest import seal_reports

        settings.LEDGER_GUARD_FILE = tmp_path / "guard"
        seal_reports(["a", "b"])
        seal_reports(["c"])
        values = read()
        assert (values["platform_ledger_height"], values["platform_ledger_entries"]) == (2, 3)
        (tmp_path / "guard").write_text("damaged")
        assert read()["platform_ledger_may_sign"] == 0

    def test_a_long_queue_is_counted_to_an_end(self, read, monkeypatch):
        monkeypatch.setattr("config.ops.readings.COUNT_MAX", 3)
        user, now = UserFactory(), timezone.now()
        Event.objects.bulk_create(
            [Event(account=user, type="claim.created", object={}, created_at=now) for _ in range(10)]
        )
        assert read()["platform_events_unpublished"] == 4
        assert COUNT_MAX >= 1_000

    def test_every_queue_is_read_from_an_index(self, committed, needs_postgresql, django_assert_max_num_queries):
        with connection.cursor() as cursor:
            cursor.execute("SET enable_seqscan = off; SET enable_sort = off")
        with django_assert_max_num_queries(14) as captured:
            for _alias, measure in measures():
                list(measure(using="default", now=timezone.now()))
        indexes = {
            "webhooks_event_unpublished", "webhooks_delivery_due", "webhooks_endpoint_failing",
            "payments_payment_due", "payments_crypto_open", "credit_app_review_queue", "credit_anchor_due",
            "identity_kyc_status_expiry", "ledger_block_pkey",
        }  # fmt: skip
        used = set()
        for query in captured.captured_queries:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {query['sql']}")
                plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan" not in plan, plan
            used |= {index for index in indexes if index in plan}
        assert used == indexes
