"""Counting requests in many worker processes, by prometheus-client's documented multi-process mode.

Each server (a gunicorn master with its workers) has a folder of its own in `VAR_DIR/metrics`, named by its process id;
`manage.py serve_metrics` shows the sums over the folders of all servers that live. The files are mapped into memory:
put `VAR_DIR/metrics` on a file system that does not fill up (`deploy/` uses one in memory).

Nothing is counted, and prometheus-client is not loaded, in a process without PROMETHEUS_MULTIPROC_DIR.
"""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from config import env as environment

BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


class _Instruments:
    """What one process counts with."""

    def __init__(self) -> None:
        """Make the instruments; they write to the folder that FOLDER_VARIABLE names."""
        from prometheus_client import Counter, Gauge, Histogram

        labels = ["service", "method", "route"]
        self.requests = Counter("platform_requests", "Requests answered.", [*labels, "status"])
        self.seconds = Histogram(
            "platform_request_duration_seconds", "Time to the answer.", labels, buckets=BUCKETS_SECONDS
        )
        self.in_flight: Any = Gauge(
            "platform_requests_in_flight", "Requests being answered.", ["service"], multiprocess_mode="livesum"
        ).labels(settings.SERVICE)


_making = threading.Lock()


@cache
def _make() -> _Instruments | None:
    """Make the instruments; prometheus-client refuses to make them twice."""
    return _Instruments() if os.environ.get(FOLDER_VARIABLE) else None


def _instruments() -> _Instruments | None:
    """Return this process's instruments, or None when nobody wants its counts."""
    with _making:  # the first requests of a worker come together
        return _make()


def begin_request() -> None:
    """Count one request as being answered."""
    instruments = _instruments()
    if instruments is not None:
        instruments.in_flight.inc()


def end_request() -> None:
    """Count one request as no longer being answered."""
    instruments = _instruments()
    if instruments is not None:
        instruments.in_flight.dec()


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    """Count one request that was answered; `route` is a template of the URLconf, never an address."""
    instruments = _instruments()
    if instruments is not None:
        instruments.requests.labels(settings.SERVICE, method, route, status).inc()
        instruments.seconds.labels(settings.SERVICE, method, route).observe(seconds)


# --- The server's folder: called in gunicorn's master, before and after there are workers ----------------------------


def open_folder() -> None:
    """Make this server's folder unless METRICS=0, and remove those of servers that have ended.

    A folder that cannot be made costs the counts, not the service.
    """
    if not environment.flag("METRICS", default=True):
        return
    parent = environment.var_dir() / "metrics"
    folder = parent / str(os.getpid())
    try:
        environment.make_var_dir(environment.var_dir())
        for left in set(parent.glob("[0-9]*")) - set(_live_folders(parent)):
            shutil.rmtree(left, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as error:
        sys.stderr.write(
            f"Requests are not counted: {error.strerror} at {error.filename}. METRICS=0 turns counting off.\n"
        )
        return
    os.environ[FOLDER_VARIABLE] = str(folder)


def close_folder() -> None:
    """Remove the folder of a server that ends."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def live_files(parent: Path) -> list[str]:
    """Return the files of every server that lives."""
    return [str(file) for folder in _live_folders(parent) for file in folder.glob("*.db")]


def _live_folders(parent: Path) -> Iterator[Path]:
    """Yield the folders of servers that live, by the process ids that they are named after."""
    for folder in parent.glob("[0-9]*"):
        try:
            os.kill(int(folder.name), 0)
        except (ProcessLookupError, ValueError):
            continue
        except PermissionError:
            pass  # it lives, as another user
        yield folder
