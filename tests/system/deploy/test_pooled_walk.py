"""Every operation and command works behind PgBouncer, and leaves no state on a database session.

With a single connection to PostgreSQL, the test can see all state that is left. With the default number of connections,
an operation that needs the state of an earlier transaction fails.
"""

import contextlib
import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests import clusters
from tests.bench.server import worker
from tests.ledger.witnesses import watched_log
from tests.processes import ROOT, manage
from tests.system.deploy.test_database import PGBOUNCER, pgbouncer
from tests.system.server import gunicorn
from tests.system.walk import commands, ledger, platform
from tests.system.walk.service import Service

pytestmark = [
    pytest.mark.nightly,  # test_database.py is the short form
    pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing()),
    pytest.mark.skipif(PGBOUNCER is None, reason="needs pgbouncer"),
]
CALLERS = 6
WORKERS = ("ask_witnesses", "anchor_decisions", "decide_applications", "deliver_webhooks")
# Expected errors: of the sandbox's bank and card processor, and of a log-in while two other log-ins run.
EXPECTED = (b'"E5001"', b'"E5002"', b'"E5003"', b'"E5004"', b"The server is processing too many log-ins.")
# The settings that PgBouncer sets for each client, and the settings that every transaction resets.
POOLER_SETTINGS = {"application_name", "client_encoding", "DateStyle", "standard_conforming_strings", "TimeZone"}
TRANSACTION_SETTINGS = {"transaction_isolation", "transaction_read_only"}


class Commands(commands.Commands):
    """The commands of the end-to-end test. `migrate` connects directly, because it needs two connections."""

    def __init__(self, settings, direct):
        super().__init__(ROOT, settings)
        self.direct = direct

    def print(self, *arguments):
        """Run a command without `--json`; return its output."""
        environment = self.environment
        if arguments == ("migrate",):
            self.environment = environment | {"DATABASE_URL": self.direct}
        try:
            return super().print(*arguments)
        finally:
            self.environment = environment


def repeat_concurrently(service, *, skip_deletions=False):
    """Repeat each operation of the end-to-end test six times concurrently; return the failures.

    Deletions are last. With `skip_deletions`, they are not repeated.
    """
    operations = {operation_id: operation for operation, operation_id in service.operations.items()}
    exchanges = [(operations[operation_id], exchange) for operation_id, exchange in service.exchanges.items()]
    deletions = [entry for entry in exchanges if entry[0].startswith("DELETE")]
    exchanges = [entry for entry in exchanges if entry not in deletions] + ([] if skip_deletions else deletions)
    failed = []
    with ThreadPoolExecutor(CALLERS) as callers:
        for operation, exchange in exchanges:
            sent = [callers.submit(service.send, operation, exchange["request"], exchange["query"], exchange["path"])
                    for _ in range(CALLERS)]  # fmt: skip
            for item in sent:
                status, content, _media_type = item.result()
                if status >= 500 and not any(words in content for words in EXPECTED):
                    failed.append((operation, status, content[:300]))
    return failed


@pytest.mark.timeout(900)
def test_operations_and_commands_leave_no_state_on_a_pooled_database_connection(prepared, tmp_path):
    server, folder = prepared
    origin = "127.0.0.1:8001"
    with contextlib.ExitStack() as running:
        policy = running.enter_context(watched_log(folder, origin))
        address = running.enter_context(pgbouncer(server, tmp_path, pool_size=1))
        fields = {
            "DATABASE_URL": address, "VAR_DIR": str(folder), "WEBHOOK_ALLOW_PRIVATE": "1",
            "WITNESS_POLICY": str(policy), "LEDGER_ORIGIN": origin,
            "LEDGER_CLIENT_KEY": "known to both services",
            "DJANGO_SETTINGS_MODULE": "tests.bench.settings",  # its rate limits are too high to reach
        }  # fmt: skip
        env = {"PATH": os.environ["PATH"], **fields}
        demo = json.loads(manage(env, "seed_demo", "--json"))
        more = {name: fields[name] for name in fields.keys() - {"DATABASE_URL", "VAR_DIR"}}
        ledger_port = running.enter_context(gunicorn(address, folder, module="ledger.wsgi", threads=16, **more))
        fields["CHAIN_URL"] = more["CHAIN_URL"] = f"http://127.0.0.1:{ledger_port}"
        port = running.enter_context(gunicorn(address, folder, workers=2, threads=8, **more))
        fields["BASE_URL"] = f"http://127.0.0.1:{port}/v1"
        for name in WORKERS:
            running.enter_context(worker(name, {**env, **fields}))
        service = Service(f"http://127.0.0.1:{port}", "/v1/openapi.json", {"X-API-Key": demo["api_key"]})
        log = Service(fields["CHAIN_URL"], "/openapi.json", {"X-API-Key": fields["LEDGER_CLIENT_KEY"]})
        called = Commands(fields, server.address("creditplatform", "platform_owner"))
        platform.advance_clock(service, commands.key_of_new_account(called, "newcomer"))
        platform.hold(service, commands.key_of_new_account(called, "operator", "--staff", "--group", "Operations"))
        log.call("POST /anchor/batch", {"items": ledger.demo_ids.REPORTS})
        endpoint, bundle = platform.walk(service, demo)
        report_hash = ledger.walk(log)
        log.call_rest()
        shipped = running.enter_context(pgbouncer(server, tmp_path))
        many = running.enter_context(gunicorn(shipped, folder, workers=2, threads=8, **more))
        root, service.root = service.root, f"http://127.0.0.1:{many}"
        failed = repeat_concurrently(service, skip_deletions=True)
        service.root = root
        failed += repeat_concurrently(service) + repeat_concurrently(log)
        assert not failed, Counter((operation, status) for operation, status, _ in failed)
        commands.walk(called, endpoint=endpoint, bundle=bundle, report_hash=report_hash, folder=tmp_path)
        called.check_complete()
        called.stop()
        with psycopg.connect(address.partition("?")[0], autocommit=True) as session:
            left = session.execute("SELECT name, setting FROM pg_settings WHERE source = 'session'").fetchall()
            assert {name for name, _ in left} <= POOLER_SETTINGS | TRANSACTION_SETTINGS
            for table in ("pg_cursors", "pg_prepared_statements"):
                assert session.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
            held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            assert session.execute(held).fetchone()[0] == 0
