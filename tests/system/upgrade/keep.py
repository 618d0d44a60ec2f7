"""Store the data of a version: `python -m tests.system.upgrade.keep 1.0.0`, in a tree without changes.

It runs both services with the demo and the end-to-end test, on PostgreSQL and then on SQLite. It writes the resulting
databases and their secrets to `tests/system/upgrade/1.0.0/`, and the date into the changelog.
"""

import contextlib
import json
import lzma
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from tests.bench.faults.cluster import cluster
from tests.bench.server import gunicorn, serve
from tests.clusters import folder_of
from tests.ledger.witnesses import watched_log
from tests.processes import PATIENCE_SECONDS, ROOT, free_port, manage
from tests.system.upgrade.kept import DUMPS, HERE
from tests.system.walk import ledger, platform
from tests.system.walk.service import Service

WORKERS = ("ask_witnesses", "anchor_decisions", "decide_applications", "issue_notices")
# Files that the stored archive excludes, such as request counters, static files, and the database.
EXCLUDED = re.compile(r"metrics|static|.*\.sqlite3(-wal|-shm)?|witness.*|tests")
REPORT = ledger.REPORT


@contextlib.contextmanager
def databases(kind: str, folder: Path) -> Iterator[str]:
    """Create an empty database of a kind; yield its URL."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/platform.sqlite3"
        return
    with cluster(fsync="off") as server:
        yield server.address()


def fill(address: str, var: Path) -> None:
    """Run both services on an empty database, call each operation once, and write a decision and a proof to `var`."""
    origin, port, ledger_port = "kept.invalid", free_port(), free_port()
    env = {
        "PATH": os.environ["PATH"], "DATABASE_URL": address, "VAR_DIR": str(var), "WEBHOOK_ALLOW_PRIVATE": "1",
        "BASE_URL": f"http://127.0.0.1:{port}/v1", "CHAIN_URL": f"http://127.0.0.1:{ledger_port}",
        "LEDGER_ORIGIN": origin, "WITNESS_POLICY": str(var / "witness-policy"),
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",  # its rate limits are too high to reach
    }  # fmt: skip
    with watched_log(var, origin), contextlib.ExitStack() as running:
        manage(env, "migrate", "-v0")
        demo = json.loads(manage(env, "seed_demo", "--json"))
        log_of = serve("ledger", gunicorn("ledger.wsgi", "--workers", "1", "--threads", "16"), env, port=ledger_port)
        running.enter_context(log_of)
        running.enter_context(serve("platform", gunicorn("config.wsgi"), env, port=port))
        for name in WORKERS:
            worker = subprocess.Popen(
                [sys.executable, "manage.py", name], cwd=ROOT, env=env, stdout=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            running.callback(worker.wait, PATIENCE_SECONDS)
            running.callback(worker.terminate)
        service = Service(env["BASE_URL"].removesuffix("/v1"), "/v1/openapi.json", {"X-API-Key": demo["api_key"]})
        log = Service(env["CHAIN_URL"], "/openapi.json", {})
        log.call("POST /anchor/batch", {"items": ledger.demo_ids.REPORTS})
        service.called.add("POST /v1/sandbox/clock")  # skipped, because it would age the demo's records
        _endpoint, bundle = platform.walk(service, demo)
        report_hash = ledger.walk(log)
        (var / "decision.json").write_text(json.dumps(bundle))
        (var / "record-keys.json").write_text(json.dumps(service.call("GET /.well-known/record-keys.json")))
        (var / "ledger.vkey").write_text(log.call("GET /key")["vkey"])
        proof = log.call("GET /proof/{report_hash}.tlog-proof", query={"witnessed": 1}, report_hash=report_hash)
        (var / "report.tlog-proof").write_text(proof)
        (var / "report").write_text(REPORT)


def dump(kind: str, address: str) -> bytes:
    """Return all content of the database, as SQL or as a SQLite file."""
    if kind == "sqlite":
        file = address.removeprefix("sqlite:///")
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute("VACUUM INTO ?", [f"{file}.kept"])
        return Path(f"{file}.kept").read_bytes()
    command = [f"{folder_of('pg_dump')}/pg_dump", "--no-owner", "--no-privileges", address]
    sql = subprocess.run(command, capture_output=True, check=True).stdout
    return re.sub(
        rb"(?m)^\\(un)?restrict .*\n", b"", sql
    )  # newer minor versions write these lines, which an older psql rejects


def pack(folder: Path) -> bytes:
    """Return an archive of a folder without the files in EXCLUDED."""
    packed = BytesIO()
    with tarfile.open(mode="w:xz", fileobj=packed) as archive:
        for path in sorted(folder.iterdir()):
            if not EXCLUDED.fullmatch(path.name):
                archive.add(path, path.name)
    return packed.getvalue()


def keep(kind: str, database: Path, secrets: Path) -> None:
    """Create a database of a kind, and write its dump and the archive of its files."""
    with tempfile.TemporaryDirectory() as place, databases(kind, Path(place)) as address:
        var = Path(place, "var")
        var.mkdir(mode=0o700)
        fill(address, var)
        database.write_bytes(lzma.compress(dump(kind, address), preset=9 | lzma.PRESET_EXTREME))
        secrets.write_bytes(pack(var))


def declare(number: str, log: Path) -> None:
    """Replace `unreleased` in the changelog with today's date."""
    today = datetime.now(UTC).date().isoformat()
    log.write_text(log.read_text().replace(f"## {number} — unreleased\n", f"## {number} — {today}\n"))


def main(number: str) -> None:
    """Store the data of the version, and declare it in the changelog."""
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True).stdout:
        raise SystemExit("Commit your changes first: the stored data refers to the commit of its program.")
    folder = HERE / number
    folder.mkdir(exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    (folder / "COMMIT").write_text(commit)
    for kind, name in DUMPS.items():
        keep(kind, folder / name, folder / f"{kind}-var.tar.xz")
    declare(number, ROOT / "CHANGELOG.md")
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    print(f"{folder.relative_to(ROOT)}: {sizes}")


if __name__ == "__main__":
    main(sys.argv[1])
