"""Every operation and every command behind PgBouncer: none depends on the state of a session, and none leaves any.

With one connection to PostgreSQL, every left-over state is visible; with the shipped number of connections, an
operation that needs the state of an earlier transaction does not find it.
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
# Errors of the sandbox's bank and card processor, and of a log-in while two others run.
MEANT = (b'"E5001"', b'"E5002"', b'"E5003"', b'"E5004"', b"Too many people are logging in")
# Settings that PgBouncer sets for each client, and settings that every transaction resets.
OF_THE_POOLER = {"application_name", "client_encoding", "DateStyle", "standard_conforming_strings", "TimeZone"}
OF_TRANSACTIONS = {"transaction_isolation", "transaction_read_only"}


class Commands(commands.Commands):
    """The commands of the end-to-end test; `migrate` uses PostgreSQL directly, because its lock needs a session."""

    def __init__(self, settings, direct):
        super().__init__(ROOT, settings)
        self.direct = direct

    def print(self, *arguments):
        """Run a command without `--json`; return its output."""
        kept = self.environment
        if arguments == ("migrate",):
            self.environment = kept | {"DATABASE_URL": self.direct}
        try:
            return super().print(*arguments)
        finally:
            self.environment = kept


def at_once(service, *, keeping=False):
    """Repeat each operation of the end-to-end test six times concurrently; return the failures.

    Deletions come last; with `keeping`, they are skipped.
    """
    named = {operation_id: operation for operation, operation_id in service.operations.items()}
    named_exchanges = [(named[operation_id], seen) for operation_id, seen in service.exchanges.items()]
    takes_away = [entry for entry in named_exchanges if entry[0].startswith("DELETE")]
    named_exchanges = [entry for entry in named_exchanges if entry not in takes_away] + ([] if keeping else takes_away)
    failed = []
    with ThreadPoolExecutor(CALLERS) as callers:
        for operation, seen in named_exchanges:
            sent = [callers.submit(service.send, operation, seen["request"], seen["query"], seen["path"])
                    for _ in range(CALLERS)]  # fmt: skip
            for item in sent:
                status, content, _media_type = item.result()
                if status >= 500 and not any(words in content for words in MEANT):
                    failed.append((operation, status, content[:300]))
    return failed


@pytest.mark.timeout(900)
def test_no_operation_or_command_leaves_state_on_a_pooled_connection(prepared, tmp_path):
    server, folder = prepared
    origin = "127.0.0.1:8001"
    with contextlib.ExitStack() as running:
        policy = running.enter_context(watched_log(folder, origin))
        address = running.enter_context(pgbouncer(server, tmp_path, pool_size=1))
        fields = {
            "DATABASE_URL": address, "VAR_DIR": str(folder), "WEBHOOK_ALLOW_PRIVATE": "1",
            "WITNESS_POLICY": str(policy), "LEDGER_ORIGIN": origin,
            "LEDGER_CLIENT_KEY": "known to both services",
            "DJANGO_SETTINGS_MODULE": "tests.bench.settings",  # with very high rate limits
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
        failed = at_once(service, keeping=True)
        service.root = root
        failed += at_once(service) + at_once(log)
        assert not failed, Counter((operation, status) for operation, status, _ in failed)
        commands.walk(called, endpoint=endpoint, bundle=bundle, report_hash=report_hash, folder=tmp_path)
        called.check_complete()
        with psycopg.connect(address.partition("?")[0], autocommit=True) as session:
            left = session.execute("SELECT name, setting FROM pg_settings WHERE source = 'session'").fetchall()
            assert {name for name, _ in left} <= OF_THE_POOLER | OF_TRANSACTIONS
            for table in ("pg_cursors", "pg_prepared_statements"):
                assert session.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
            held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
            assert session.execute(held).fetchone()[0] == 0
