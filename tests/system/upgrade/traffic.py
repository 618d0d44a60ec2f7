"""Upgrade and roll back behind nginx under traffic: migrate, and then replace the servers one by one."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.bench.faults.cluster import Cluster, cluster
from tests.bench.faults.deploy import QUICK_CALLERS, restart
from tests.bench.faults.stand import Stand
from tests.bench.faults.traffic import Traffic, print_first
from tests.bench.proxy import nginx
from tests.bench.server import Server
from tests.processes import ROOT
from tests.system.upgrade.kept import Version

EVIDENCE = ["verify_ledger", "decision.json", "report.tlog-proof"]  # the verified evidence of a version, in order
_LONG_AGO = "2001-01-01"  # the creation time of the applications that no caller changes
_SAMPLE_SECONDS = 0.02


@dataclass
class Result:
    """The results of an upgrade. `locked_seconds` has the longest duration of each lock, by table and mode."""

    requests: int = 0
    failed: list[str] = field(default_factory=list)
    lost: int = 0
    changed: int = 0
    migrating: float = 0.0
    longest_wait: float = 0.0
    locked_seconds: dict[str, float] = field(default_factory=dict)


class Callers(Traffic):
    """The callers of the benchmark, with an unknown offer, because the demo's offers require more data."""

    def _application(self, key: str) -> dict[str, object]:
        return {**super()._application(key), "offer_id": 999_000_001, "provider_id": 999_000}


def upgrade(version: Version, folder: Path, *, rows: int) -> Result:
    """Run the program of an old version, migrate its tables, and run the new program on them.

    At the end, run the old program on the migrated tables.
    """
    old, var, result = version.program(folder / "old"), folder / "var", Result()
    version.unpack("postgresql", var)
    with cluster() as own, contextlib.ExitStack() as stack:
        version.restore(own.address())
        _multiply(own, rows)
        columns = _columns(own)
        before = _hash_unchanged(own, columns)
        stand = _stand(own, var, old)
        servers = [stack.enter_context(stand.serve()) for _ in range(2)]
        port = stack.enter_context(nginx(*(server.port for server in servers)))
        with Callers(stand, port, **QUICK_CALLERS) as callers:
            time.sleep(1.0)  # the old program on the old tables
            with _measure_locks(own, result):
                began = time.monotonic()
                stand.program = ROOT
                stand.manage("migrate", "-v0")
                result.migrating = time.monotonic() - began
            time.sleep(1.0)  # the old program on the new tables
            for program in (ROOT, old):
                stand.program = program
                _restart_in_turn(stack, stand, servers)
        _compare_with_rows(result, callers, own)
        result.changed = _hash_unchanged(own, columns) != before
    return result


def _restart_in_turn(stack: contextlib.ExitStack, stand: Stand, servers: list[Server]) -> None:
    """Restart each server, and replace it in the list."""
    for number, server in enumerate(servers):
        time.sleep(0.5)
        servers[number] = restart(stack, stand, server)
    time.sleep(0.5)


def _stand(own: Cluster, var: Path, old: Path) -> Stand:
    """Create a stand that runs the old program, and an account."""
    stand = Stand(own, var, program=old)
    stand.environment = {
        "PATH": os.environ["PATH"], "DATABASE_URL": own.address(), "VAR_DIR": str(var), "PYTHONWARNINGS": "ignore",
        "WEBHOOK_ALLOW_PRIVATE": "1", "LEDGER_ORIGIN": "kept.invalid",
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",  # its rate limits are too high to reach
    }  # fmt: skip
    stand.make_account("upgrader")
    return stand


def _multiply(own: Cluster, rows: int) -> None:
    """Insert `rows` copies of an application, with new IDs and an early creation time."""
    columns = _columns(own)
    with own.connect() as session:
        special = {"id": sql.SQL("gen_random_uuid()"), "created_at": sql.Literal(_LONG_AGO)}
        values = [special.get(column, sql.Identifier(column)) for column in columns]
        session.execute("SET session_replication_role = replica")
        session.execute(sql.SQL(
            "INSERT INTO credit_application ({}) SELECT {} FROM (SELECT * FROM credit_application LIMIT 1) AS source,"
            " generate_series(1, {})"
        ).format(sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(values), rows))  # fmt: skip
        session.execute("ANALYZE credit_application")


def _columns(own: Cluster) -> list[str]:
    with own.connect() as session:
        return [row[0] for row in session.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'credit_application'::regclass AND attnum > 0"
            " AND NOT attisdropped"
        )]  # fmt: skip


def _hash_unchanged(own: Cluster, columns: list[str]) -> Any:
    """Return the count and a hash of the applications that no caller changes, over these columns."""
    row = sql.SQL(", ").join(map(sql.Identifier, columns))
    hashed = "SELECT count(*), sum(hashtextextended(row({})::text, 0)::numeric) FROM credit_application"
    wanted = hashed + " WHERE created_at = {}"
    with own.connect() as session:
        return session.execute(sql.SQL(wanted).format(row, _LONG_AGO)).fetchone()


_WAITS = """
SELECT max(extract(epoch FROM clock_timestamp() - waitstart)) FROM pg_locks
WHERE NOT granted AND waitstart IS NOT NULL AND locktype = 'relation'
"""
# Each of these locks blocks writes to a table, or all access.
_HOLDS = """
SELECT pid, relation::regclass::text, mode FROM pg_locks
WHERE granted AND locktype = 'relation' AND relation = ANY (%s)
  AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
"""
_TABLES = "SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"


@contextlib.contextmanager
def _measure_locks(own: Cluster, result: Result) -> Iterator[None]:
    """Measure the longest wait for a table lock, and the longest duration of each blocking lock."""
    over = threading.Event()
    with own.connect() as session:
        tables = [row[0] for row in session.execute(_TABLES)]
        thread = threading.Thread(target=_sample_locks, args=(session, tables, result, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _sample_locks(session: psycopg.Connection, tables: list[int], result: Result, over: threading.Event) -> None:
    began: dict[tuple[Any, ...], float] = {}
    while not over.wait(_SAMPLE_SECONDS):
        now = time.monotonic()
        waited = session.execute(_WAITS).fetchone()
        result.longest_wait = max(result.longest_wait, float(waited[0] or 0.0) if waited else 0.0)
        current = {tuple(row) for row in session.execute(_HOLDS, [tables])}
        began = {item: began.get(item, now) for item in current}
        for (_pid, table, mode), since in began.items():
            name = f"{table} {mode}"
            result.locked_seconds[name] = max(result.locked_seconds.get(name, 0.0), now - since + _SAMPLE_SECONDS)


def _compare_with_rows(result: Result, callers: Traffic, own: Cluster) -> None:
    """Compare the responses to callers with the stored rows."""
    result.requests = len(callers.responses)
    failed = [
        response
        for response in callers.responses
        if not response.is_documented or response.status >= 500 or response.status == 409
    ]
    result.failed = [item.text or f"{item.work} {item.status}" for item in print_first(failed)]
    identifiers = {identifier for ids in callers.applications.values() for identifier in ids}
    stored = "SELECT id::text, status FROM credit_application WHERE id = ANY (%s::uuid[])"
    with own.connect() as session:
        rows = dict(session.execute(stored, [list(identifiers)]).fetchall())
    result.lost = len(identifiers - rows.keys()) + sum(rows.get(item) != "submitted" for item in callers.submitted)
