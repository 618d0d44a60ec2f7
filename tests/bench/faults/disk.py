"""No room is left: for the ledger's guard file, and for PostgreSQL itself."""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import Stand, stand
from tests.bench.faults.traffic import Caller, Seen, Traffic, show
from tests.bench.report import Line, counts

DISK_MIB = 400


@contextlib.contextmanager
def small_disk(mib: int) -> Iterator[Path | None]:
    """Give a file system of this size of its own, or None where none may be mounted."""
    with tempfile.TemporaryDirectory(prefix="faults-disk-") as folder:
        options = ["-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", folder]
        if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)


def fill(folder: Path) -> Path:
    """Write a file until there is no room; return it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        free = os.statvfs(folder)
        # At once: written piece by piece it would take as long as the machine is busy.
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        file.seek(0, os.SEEK_END)
        with contextlib.suppress(OSError):
            while file.write(b"\0" * 4096) == 4096:
                pass
    return filler


def run(quick: bool) -> Iterator[Line]:
    """Fill each of the two."""
    # A log of its own: one that has entries and no guard file has lost it, and refuses to go on.
    with cluster() as own, stand(own) as made, small_disk(1) as disk:
        if disk is None:
            print("    No file system may be mounted here, so none is filled.", flush=True)
            return
        yield from _guard(made, disk)
    with small_disk(DISK_MIB) as disk:
        if disk is not None:
            yield from _database(disk, 3.0 if quick else 10.0)


def _guard(made: Stand, disk: Path) -> Iterator[Line]:
    """The first mark of the guard file finds no room; then there is some."""
    work = "guard file on a full disk"
    filler = fill(disk)
    seen: list[Seen] = []
    body = {"user_id": made.user_id, "report_type": "fault", "report_data": "kept or refused"}
    with made.serve("ledger.wsgi", LEDGER_GUARD_FILE=str(disk / "guard")) as ledger:
        caller = Caller(ledger.port, seen)
        statuses = [caller.ask("write", "POST", "/anchor", body, {})[0] for _ in range(3)]
        reads = caller.ask("read", "GET", "/blocks", None, {})[0]
        filler.unlink()
        again = caller.ask("write", "POST", "/anchor", body, {})[0]
        filler = fill(disk)
        with_a_mark = caller.ask("write", "POST", "/anchor", {**body, "report_data": "another"}, {})[0]
        filler.unlink()
        caller.close()
    bad = [one for one in seen if not one.proper]
    found = {"anchors acknowledged without it": statuses.count(200), "answers other than promised": len(show(bad))}
    found |= {"reads that failed": reads != 200, "anchors refused with room again": again != 200}
    # Its one sector is there since the first mark: a disk that fills up later stops nothing.
    found["anchors refused once it has its sector"] = with_a_mark != 200
    yield from counts(work, found, goal=0.0)


def _database(disk: Path, seconds: float) -> Iterator[Line]:
    """PostgreSQL has no room for tables or for its log, for a while."""
    work = "PostgreSQL on a full disk"
    with cluster(folder=disk) as own, stand(own) as made, made.serve() as platform, made.serve("ledger.wsgi") as ledger:
        with Traffic(made, platform.port, ledger.port) as traffic:
            time.sleep(2.0)
            began = time.monotonic()
            filler = fill(disk)
            until = began + 60
            # Callers fill what is left of the segments that were there.
            while not any(one.status == 503 for one in traffic.seen) and time.monotonic() < until:
                time.sleep(0.2)
            reads = _read_for(seconds, made, platform.port)
            filler.unlink()
            if not _answers(own.address()):
                # Without room for its own log the server ends itself; whoever made room starts it again.
                with contextlib.suppress(RuntimeError):
                    own.stop()
                own.start()
            back = time.monotonic()
            time.sleep(5.0)
            recovery = traffic.first_success(back)
        figures = traffic.judge()
    answered = sum(one.status == 200 for one in reads)
    refused = sum(one.status == 503 for one in traffic.seen)
    yield from counts(work, {"answers of 503": refused, "reads meanwhile": len(reads), "of them answered": answered})
    improper = show([*traffic.improper(), *(one for one in reads if not one.proper)])
    yield from counts(work, {**figures, "answers other than promised": len(improper)}, goal=0.0)
    yield Line(work, "first success with room again", value=recovery, goal=5.0, unit=" s")


def _read_for(seconds: float, made: Stand, port: int) -> list[Seen]:
    """Read for so long; return the answers."""
    seen: list[Seen] = []
    caller, until = Caller(port, seen), time.monotonic() + seconds
    while time.monotonic() < until:
        caller.ask("read", "GET", "/v1/applications", None, {"X-API-Key": made.api_key})
        time.sleep(0.05)
    caller.close()
    return seen


def _answers(address: str) -> bool:
    """Say whether the server takes a connection."""
    with contextlib.suppress(psycopg.Error), psycopg.connect(address, connect_timeout=10):
        return True
    return False
