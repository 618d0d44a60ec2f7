"""Counts of requests across worker processes, in prometheus-client's multi-process mode.

Each server (a gunicorn master with its workers) has a folder in `VAR_DIR/metrics`, whose name is the process ID.
`manage.py serve_metrics` adds up the folders of all running servers.
"""

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from config import env as environment

BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_FILE_BYTES = 1 << 20  # sufficient for 350 routes
_FREE_BYTES_MIN = 8 << 20  # each process has three files of _FILE_BYTES
_KINDS = ("counter", "histogram", "gauge_livesum")  # the library's file names contain these kinds
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


class RequestCounts:
    def __init__(self) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        labels = ["service", "method", "route"]
        self._requests = Counter("platform_requests", "Requests with a response.", [*labels, "status"])
        self._seconds = Histogram(
            "platform_request_duration_seconds", "Time to the response.", labels, buckets=BUCKETS_SECONDS
        )
        self.in_flight: Any = Gauge(
            "platform_requests_in_flight", "Requests in progress.", ["service"], multiprocess_mode="livesum"
        ).labels(settings.SERVICE)

        self.lines_dropped: Any = Counter(
            "platform_request_lines_dropped",
            "Lines of the request log that were dropped because the queue was full or they could not be stored.",
            ["service"],
        ).labels(settings.SERVICE)
        self.audit_lines: Any = Counter(
            "platform_audit_lines", "Lines of the audit stream that server processes wrote.", ["service"]
        ).labels(settings.SERVICE)
        self.break_glass_log_ins: Any = Counter(
            "platform_break_glass_logins", "Log-ins of the break-glass account.", ["service"]
        ).labels(settings.SERVICE)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one response. `route` is a template of the URLconf, never a path."""
        self._requests.labels(settings.SERVICE, method, route, status).inc()
        self._seconds.labels(settings.SERVICE, method, route).observe(seconds)


@cache
def counts_of_process() -> RequestCounts | None:
    """Return this process's counters, or None if counting is disabled.

    On a full disk, a write to a mapped file would kill the process. So all pages are allocated at the start, and a
    process that starts on a full disk does not count.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    try:
        _allocate(Path(folder))
        return RequestCounts()
    except OSError as error:
        sys.stderr.write(f"This process can't count requests: {error.strerror} at {error.filename or folder}.\n")
        return None


def _allocate(folder: Path) -> None:
    if shutil.disk_usage(folder).free < _FREE_BYTES_MIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    for kind in _KINDS:
        with (folder / f"{kind}_{os.getpid()}.db").open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, _FILE_BYTES)


def open_folder() -> None:
    """Create this server's folder, and delete the folders of ended servers. With METRICS=0, do nothing.

    The master process of gunicorn calls this function. Without a folder, the service runs without counts.
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
            f"Requests are not counted: {error.strerror} at {error.filename}. METRICS=0 disables counting.\n"
        )
        return
    os.environ[FOLDER_VARIABLE] = str(folder)


def live_files(parent: Path) -> list[str]:
    return [str(file) for folder in _live_folders(parent) for file in folder.glob("*.db")]


def _live_folders(parent: Path) -> Iterator[Path]:
    for folder in parent.glob("[0-9]*"):
        try:
            os.kill(int(folder.name), 0)
        except (ProcessLookupError, ValueError):
            continue
        except PermissionError:
            pass  # the process belongs to another user
        yield folder
