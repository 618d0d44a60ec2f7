"""Two platform servers and two ledger servers behind nginx: everything is answered, by both, and kept once."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from tests import clusters
from tests.bench.faults.cluster import cluster
from tests.bench.proxy import nginx_of_both, nginx_program
from tests.config.server import body_of, exchange, gunicorn, manage, metrics_server, request, scrape, status_of

pytestmark = [
    pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing()),
    pytest.mark.skipif(nginx_program() is None, reason="needs nginx"),
]
CALLS = 120


def test_four_servers_keep_one_history(inhabited, tmp_path):
    me, key = inhabited.account
    folder = inhabited.secrets(tmp_path)
    with cluster(data=inhabited.data) as server, ExitStack() as servers:
        address = server.address()
        platforms = [servers.enter_context(gunicorn(address, folder)) for _ in range(2)]
        ledgers = [servers.enter_context(gunicorn(address, folder, module="ledger.wsgi")) for _ in range(2)]
        platform, ledger = servers.enter_context(nginx_of_both(platforms, ledgers))
        json_type = "Content-Type: application/json"

        def work(number):
            body = json.dumps({"consumer_id": str(me), "offer_id": 1, "provider_id": 1, "application_data": {}})
            sent = request("POST", "/v1/applications", body.encode(), f"Idempotency-Key: {uuid.uuid4()}",
                           f"X-API-Key: {key}", json_type)  # fmt: skip
            # The same request twice, by whichever server: it is carried out once.
            first, again = exchange(platform, sent), exchange(platform, sent)
            assert (status_of(first), body_of(first)) == (status_of(again), body_of(again))
            report = {"user_id": "ada", "report_type": "decision", "report_data": f"report {number}"}
            anchored = exchange(ledger, request("POST", "/anchor", json.dumps(report).encode(), json_type))
            return status_of(first), status_of(anchored)

        with ThreadPoolExecutor(16) as callers:
            assert set(callers.map(work, range(CALLS))) == {(201, 200)}
        assert json.loads(manage(address, folder, "verify_ledger", "--json"))["entries"] >= CALLS
        with psycopg.connect(address) as session:
            assert session.execute("SELECT count(*) FROM credit_application").fetchone()[0] == CALLS
        counted = [*(folder / "metrics").iterdir()]
        assert len(counted) == 4
        assert all(any(one.glob("counter_*.db")) for one in counted)
        with metrics_server(address, folder) as port:
            answered = sum(value for name, value in scrape(port).items() if name.startswith("platform_requests_total"))
        assert answered >= CALLS * 3
