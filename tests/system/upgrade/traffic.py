"""An upgrade behind nginx under traffic: old servers on new tables, then new servers one by one, and back."""

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
from tests.bench.faults.deploy import CALLERS, KEYLESS, restart
from tests.bench.faults.stand import Stand
from tests.bench.faults.traffic import Traffic, show
from tests.bench.proxy import nginx
from tests.bench.server import Server
from tests.processes import ROOT
from tests.system.upgrade.kept import Version

EVIDENCE = ["verify_ledger", "decision.json", "report.tlog-proof"]  # verify a version's evidence, in order
_LONG_AGO = "2001-01-01"  # creation time of the applications that no caller changes
_LOOK_SECONDS = 0.02


@dataclass
class Seen:
    """The responses to callers, and the database's locks: `held` by table and lock, in seconds."""

    requests: int = 0
    failed: list[str] = field(default_factory=list)
    lost: int = 0
    changed: int = 0
    migrating: float = 0.0
    longest_wait: float = 0.0
    held: dict[str, float] = field(default_factory=dict)


class Callers(Traffic):
    """The callers of the bench, who apply for an unlisted offer: the demo's offers require more data."""

    def _wanted(self, key: str) -> dict[str, object]:
        return {**super()._wanted(key), "offer_id": 999_000_001, "provider_id": 999_000}


def upgrade(version: Version, folder: Path, *, rows: int) -> Seen:
    """Run a version's program on its tables; migrate them, restart into this program and back again."""
    old, var, seen = version.program(folder / "old"), folder / "var", Seen()
    version.unpack("postgresql", var)
    with cluster() as own, contextlib.ExitStack() as stack:
        version.restore(own.address())
        _multiply(own, rows)
        columns = _columns(own)
        before = _standing(own, columns)
        served = _stand(own, var, old)
        first, second = stack.enter_context(served.serve()), stack.enter_context(served.serve())
        port = stack.enter_context(nginx(first.port, second.port))
        with Callers(served, port, callers=CALLERS, keyless=KEYLESS) as callers:
            time.sleep(1.0)  # the old program on the old tables
            with _watching(own, seen):
                began = time.monotonic()
                served.program = ROOT
                served.manage("migrate", "-v0")
                seen.migrating = time.monotonic() - began
            time.sleep(1.0)  # the old program on the new tables
            for program in (ROOT, old):
                served.program = program
                _in_turn(stack, served, first, second)
        _compare_with_rows(seen, callers, own)
        seen.changed = _standing(own, columns) != before
    return seen


def _in_turn(stack: contextlib.ExitStack, made: Stand, *servers: Server) -> None:
    for server in servers:
        time.sleep(0.5)
        restart(stack, made, server)
    time.sleep(0.5)


def _stand(own: Cluster, var: Path, old: Path) -> Stand:
    """Return a stand with an account, created by the old program."""
    stand = Stand(own, var, program=old)
    stand.environment = {
        "PATH": os.environ["PATH"], "DATABASE_URL": own.address(), "VAR_DIR": str(var), "PYTHONWARNINGS": "ignore",
        "WEBHOOK_ALLOW_PRIVATE": "1", "LEDGER_ORIGIN": "kept.invalid",
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",  # with very high rate limits
    }  # fmt: skip
    stand.make_account("upgrader")
    return stand


def _multiply(own: Cluster, rows: int) -> None:
    """Insert `rows` copies of an application, in all columns of the version."""
    columns = _columns(own)
    with own.connect() as session:
        special = {"id": sql.SQL("gen_random_uuid()"), "created_at": sql.Literal(_LONG_AGO)}
        values = [special.get(column, sql.Identifier(column)) for column in columns]
        session.execute("SET session_replication_role = replica")
        session.execute(sql.SQL(
            "INSERT INTO credit_application ({}) SELECT {} FROM (SELECT * FROM credit_application LIMIT 1) AS one,"
            " generate_series(1, {})"
        ).format(sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(values), rows))  # fmt: skip
        session.execute("ANALYZE credit_application")


def _columns(own: Cluster) -> list[str]:
    with own.connect() as session:
        return [row[0] for row in session.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'credit_application'::regclass AND attnum > 0"
            " AND NOT attisdropped"
        )]  # fmt: skip


def _standing(own: Cluster, columns: list[str]) -> Any:
    """Return a hash of the applications that no caller changes, in some of their columns."""
    row = sql.SQL(", ").join(map(sql.Identifier, columns))
    hashed = "SELECT count(*), sum(hashtextextended(row({})::text, 0)::numeric) FROM credit_application"
    wanted = hashed + " WHERE created_at = {}"
    with own.connect() as session:
        return session.execute(sql.SQL(wanted).format(row, _LONG_AGO)).fetchone()


_WAITS = """
SELECT max(extract(epoch FROM clock_timestamp() - waitstart)) FROM pg_locks
WHERE NOT granted AND waitstart IS NOT NULL AND locktype = 'relation'
"""
# Each of these locks blocks writers, or all access, to a table.
_HOLDS = """
SELECT pid, relation::regclass::text, mode FROM pg_locks
WHERE granted AND locktype = 'relation' AND relation = ANY (%s)
  AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
"""
_TABLES = "SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"


@contextlib.contextmanager
def _watching(own: Cluster, seen: Seen) -> Iterator[None]:
    """Measure how long sessions wait for a table, and how long other sessions lock it."""
    over = threading.Event()
    with own.connect() as session:
        tables = [row[0] for row in session.execute(_TABLES)]
        thread = threading.Thread(target=_look, args=(session, tables, seen, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _look(session: psycopg.Connection, tables: list[int], seen: Seen, over: threading.Event) -> None:
    began: dict[tuple[Any, ...], float] = {}
    while not over.wait(_LOOK_SECONDS):
        now = time.monotonic()
        waited = session.execute(_WAITS).fetchone()
        seen.longest_wait = max(seen.longest_wait, float(waited[0] or 0.0) if waited else 0.0)
        held = {tuple(row) for row in session.execute(_HOLDS, [tables])}
        began = {item: began.get(item, now) for item in held}
        for (_pid, table, mode), since in began.items():
            name = f"{table} {mode}"
            seen.held[name] = max(seen.held.get(name, 0.0), now - since + _LOOK_SECONDS)


def _compare_with_rows(seen: Seen, callers: Traffic, own: Cluster) -> None:
    """Compare the responses to callers with the stored rows."""
    seen.requests = len(callers.seen)
    failed = [
        response for response in callers.seen if not response.proper or response.status >= 500 or response.status == 409
    ]
    seen.failed = [item.text or f"{item.work} {item.status}" for item in show(failed)]
    identifiers = {identifier for ids in callers.applications.values() for identifier in ids}
    stored = "SELECT id::text, status FROM credit_application WHERE id = ANY (%s::uuid[])"
    with own.connect() as session:
        rows = dict(session.execute(stored, [list(identifiers)]).fetchall())
    seen.lost = len(identifiers - rows.keys()) + sum(rows.get(item) != "submitted" for item in callers.submitted)
