"""Counting requests in many processes, where one other process can read the sums: `manage.py serve_metrics`.

Each server (a gunicorn master with its workers) has a folder in `VAR_DIR/metrics`, locked for as long as it lives, and
each worker counts into mapped files there, by prometheus-client's multi-process mode. A worker takes the lowest free
slot; one that replaces another goes on counting in its files, so that sums never fall and files never pile up.

Nothing is counted, and prometheus-client is not loaded, in a process for which `start` was not called.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Routes are as many as the URLconf has, and this holds should a route ever carry a value: what comes later is one.
SERIES_MAX = 400
LATER_ROUTES = "other"

_LOCK = "lock"
# Room for SERIES_MAX histograms of 13 values, or counters with a few statuses each, at under 300 bytes a value. The
# room is taken at once: writing to a mapped file that finds the disk full would kill the process.
_FILE_BYTES = {"histogram": 2_097_152, "counter": 524_288, "gauge_livesum": 4_096}
_COUNTERS_MAX = 4 * SERIES_MAX


class _Counts:
    """The instruments of one worker."""

    def __init__(self, folder: Path, slot: int) -> None:
        """Open the files of a slot; raises OSError when there is no room for them."""
        for kind, size in _FILE_BYTES.items():
            with (folder / f"{kind}_{slot}.db").open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        from prometheus_client import Counter, Gauge, Histogram, values

        values.ValueClass = values.MultiProcessValue(lambda: slot)  # type: ignore[no-untyped-call]
        labels = ["service", "method", "route"]
        self._requests = Counter("platform_requests", "Requests answered.", [*labels, "status"], registry=None)
        self._seconds = Histogram(
            "platform_request_duration_seconds", "Time to the answer.", labels, registry=None, buckets=BUCKETS_SECONDS
        )
        self._in_hand = Gauge(
            "platform_requests_in_hand", "Requests that run or wait for a thread.", ["service"],
            registry=None, multiprocess_mode="livesum",
        ).labels(settings.SERVICE)  # fmt: skip
        self._in_hand.set(0)  # whoever had the slot before may have died with its hands full
        self._counted: dict[tuple[str, str, int], Any] = {}
        self._timed: dict[tuple[str, str], Any] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        timed = self._timed.get((method, route))
        if timed is None:
            if len(self._timed) >= SERIES_MAX:
                route = LATER_ROUTES
            timed = self._timed[method, route] = self._seconds.labels(settings.SERVICE, method, route)
        counted = self._counted.get((method, route, status))
        if counted is None:
            if len(self._counted) >= _COUNTERS_MAX:
                route = LATER_ROUTES
            counted = self._requests.labels(settings.SERVICE, method, route, status)
            self._counted[method, route, status] = counted
        counted.inc()
        timed.observe(seconds)

    def hold(self, requests: int) -> None:
        """Say how many requests run or wait now."""
        self._in_hand.set(requests)


_counts: _Counts | None = None
_own_lock: Any = None


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count one request, if this process counts."""
    if _counts is not None:
        _counts.count(method, route, status, seconds)


def hold_requests(number: int) -> None:
    """Say how many requests this process runs or keeps waiting, if it counts."""
    if _counts is not None:
        _counts.hold(number)


def start(folder: Path, slot: int) -> None:
    """Let this process, a worker of the server that has `folder`, count in a slot from now on; may raise OSError."""
    global _counts  # noqa: PLW0603  one per process
    _counts = _Counts(folder, slot)


# --- The server's folder: called in gunicorn's master, before and after there are workers ----------------------------


def open_folder(parent: Path) -> Path:
    """Make this process's folder in `parent`, and remove those of servers that have ended; may raise OSError."""
    global _own_lock  # noqa: PLW0603  kept open for as long as the process lives
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / str(os.getpid())
    # One server at a time: between a folder and its lock, another would take it for left over.
    with (parent / _LOCK).open("a") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        for other in _folders(parent):
            if not _is_locked(other):
                shutil.rmtree(other, ignore_errors=True)
        folder.mkdir()
        _own_lock = (folder / _LOCK).open("a")
        fcntl.flock(_own_lock, fcntl.LOCK_EX)
    return folder


def close_folder(folder: Path) -> None:
    """Remove the folder of a server that ends."""
    shutil.rmtree(folder, ignore_errors=True)


def free_slot(taken: Iterable[int]) -> int:
    """Return the lowest slot that no living worker has."""
    slots = set(taken)
    return next(slot for slot in range(len(slots) + 1) if slot not in slots)


def release_slot(folder: Path, slot: int) -> None:
    """Forget what a worker that has ended was doing; what it has counted stays."""
    (folder / f"gauge_livesum_{slot}.db").unlink(missing_ok=True)


# --- For who reads ---------------------------------------------------------------------------------------------------


def live_files(parent: Path) -> list[str]:
    """Return the files of every server that lives."""
    return [str(file) for folder in _folders(parent) if _is_locked(folder) for file in folder.glob("*.db")]


def _folders(parent: Path) -> Iterator[Path]:
    """Yield the folders of all servers, those that have ended included."""
    return (folder for folder in parent.glob("[0-9]*") if folder.is_dir())


def _is_locked(folder: Path) -> bool:
    """Say whether a server holds its folder."""
    try:
        with (folder / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False
