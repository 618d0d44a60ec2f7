"""Start and stop servers for tests and benchmarks, each in a separate process group."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.gunicorn import threads as THREADS
from config.gunicorn import workers as WORKERS
from tests.bench import cpu
from tests.processes import ROOT, free_port, wait_until

_GUNICORN = [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:{port}"]
# No worker is replaced, because a replaced worker closes connections, and the load generator does not reconnect.
STAYS = ("--max-requests", "0")


@dataclass(frozen=True, slots=True)
class Server:
    """A server on `port`. `group` is the ID of its process group and of its first process."""

    name: str
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def group(self) -> int:
        return self.process.pid

    def processes(self) -> list[int]:
        """Return the IDs of the server's processes."""
        return cpu.members_of(self.group)

    def resident_mib(self) -> float:
        """Return the resident memory of the server's largest process in MiB."""
        return cpu.largest_resident_mib(self.processes())


def gunicorn(module: str, *options: str) -> list[str]:
    """Return the command that serves a WSGI module of the platform, as in production."""
    return [*_GUNICORN, "--config", "config/gunicorn.py", *options, module]


def stock_gunicorn(module: str, *options: str) -> list[str]:
    """Return the command that serves a WSGI module with gunicorn's defaults and the platform's process counts."""
    processes = ["--worker-class", "gthread", "--workers", str(WORKERS), "--threads", str(THREADS)]
    # The control socket is off, because two servers of a user would share its path.
    return [*_GUNICORN, *processes, "--no-control-socket", *options, module]


def uvicorn(application: str) -> list[str]:
    """Return the command that serves an ASGI application with uvloop, httptools, and the platform's process count."""
    options = ["--port", "{port}", "--workers", str(WORKERS), "--loop", "uvloop", "--http", "httptools"]
    return [sys.executable, "-m", "uvicorn", application, *options, "--no-access-log", "--log-level", "warning"]


@contextlib.contextmanager
def serve(
    name: str,
    command: list[str],
    environment: dict[str, str],
    *,
    port: int | None = None,
    output: IO[bytes] | None = None,
    folder: Path = ROOT,
) -> Iterator[Server]:
    """Run a server until the block ends; it responds when the block starts.

    `{port}` in its command is replaced, and `folder` is its working directory. It prints to `output`, or to a temporary
    file. If it does not start, `serve` raises RuntimeError with the last lines of the file.
    """
    port = port or free_port()
    command = [part.replace("{port}", str(port)) for part in command]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output or errors, stderr=output or errors,
            start_new_session=True,
        )  # fmt: skip
        try:
            wait_until(lambda: process.poll() is not None or _responds(port))
            if process.poll() is not None:
                errors.seek(0)
                printed = errors.read().decode(errors="replace").splitlines()[-20:]
                raise RuntimeError("\n".join([f"{process.args} did not start:", *printed]))
            yield Server(name, port, process)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            # Also kill its workers: a worker that outlives its master would keep a database connection open.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def worker(command: str, environment: dict[str, str]) -> Iterator[int]:
    """Run a management command that runs until it is stopped; yield its process id."""
    process = subprocess.Popen([sys.executable, "manage.py", command], cwd=ROOT, env=environment)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)


def _responds(port: int) -> bool:
    """Return whether a server responds. OPTIONS requests do not count in its metrics."""
    ping = b"OPTIONS /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(ping)
        return connection.recv(12).startswith(b"HTTP/1.")
    return False
