"""Start and stop servers, for tests and the bench: each in its own process group."""

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
# A replaced worker closes its connections: a proxy repeats such a request, the load generator does not.
STAYS = ("--max-requests", "0")


@dataclass(frozen=True, slots=True)
class Server:
    """A server on `port`; `group` is its process group, and its first process."""

    name: str
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def group(self) -> int:
        return self.process.pid

    def processes(self) -> list[int]:
        """Return its processes."""
        return cpu.members_of(self.group)

    def resident_mib(self) -> float:
        """Return the memory of its largest process in MiB."""
        return cpu.largest_resident_mib(self.processes())


def gunicorn(module: str, *options: str) -> list[str]:
    """Return the command that serves a WSGI module of the platform, as in production."""
    return [*_GUNICORN, "--config", "config/gunicorn.py", *options, module]


def stock_gunicorn(module: str, *options: str) -> list[str]:
    """Return the command that serves a WSGI module with default options, and as many processes and threads."""
    processes = ["--worker-class", "gthread", "--workers", str(WORKERS), "--threads", str(THREADS)]
    # Without the control socket, whose path two servers of a user would share.
    return [*_GUNICORN, *processes, "--no-control-socket", *options, module]


def uvicorn(application: str) -> list[str]:
    """Return the command that serves an ASGI application with this many processes, on the fastest loop and parser."""
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
    """Run a server until the block ends, with `{port}` replaced in its command; it responds when the block starts.

    Its program is in `folder`. It prints to `output`, or to a file, which is shown if it does not start (RuntimeError).
    """
    port = port or free_port()
    command = [part.replace("{port}", str(port)) for part in command]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output or errors, stderr=output or errors,
            start_new_session=True,
        )  # fmt: skip
        try:
            wait_until(lambda: process.poll() is not None or _answers(port))
            if process.poll() is not None:
                errors.seek(0)
                printed = errors.read().decode(errors="replace").splitlines()[-20:]
                raise RuntimeError("\n".join([f"{process.args} did not start:", *printed]))
            yield Server(name, port, process)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            # Kill its workers, too: one that outlives its master would keep its database connection.
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


def _answers(port: int) -> bool:
    """Return whether a server responds, with a request that is not counted."""
    question = b"OPTIONS /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(question)
        return connection.recv(12).startswith(b"HTTP/1.")
    return False
