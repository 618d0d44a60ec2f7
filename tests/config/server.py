"""A real gunicorn on 127.0.0.1, for what only the server itself shows."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def free_port():
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def gunicorn(database_url, var_dir, *, stderr=subprocess.DEVNULL, workers=1, threads=4, **environment):
    """Serve service A; give its port, and stop it afterwards."""
    port = free_port()
    env = {
        "PATH": os.environ["PATH"], "DATABASE_URL": database_url, "VAR_DIR": str(var_dir),
        "SECRET_KEY": secrets.token_urlsafe(64), "BASE_URL": f"http://127.0.0.1:{port}/v1", **environment,
    }  # fmt: skip
    command = [
        sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "--bind", f"127.0.0.1:{port}",
        "--workers", str(workers), "--threads", str(threads), "--graceful-timeout", "3", "config.wsgi",
    ]  # fmt: skip
    server = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=stderr,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(port, server)
        yield port
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(15)
        # Its workers too: one that outlives its master would keep its connection to the test's database.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def wait_for(port, server):
    """Wait until the server answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, "gunicorn ended"
        with contextlib.suppress(OSError):
            if exchange(port, b"OPTIONS /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", 5):
                return
        time.sleep(0.05)
    raise AssertionError("gunicorn did not answer")


def exchange(port, data, timeout=10):
    """Send bytes; return everything until the server closes or falls silent."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(data)
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while chunk := connection.recv(65_536):
                received += chunk
    return received


def request(method, target, body=b"", *headers, version="HTTP/1.1", host="127.0.0.1"):
    """Write one request that asks for the connection to be closed."""
    lines = [f"{method} {target} {version}", *([f"Host: {host}"] if host is not None else []), *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def status_of(answer):
    """Return the status of the first answer in some bytes; 0 for none."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


def body_of(answer):
    """Return the body of an answer that is not sent in chunks."""
    return answer.partition(b"\r\n\r\n")[2]
