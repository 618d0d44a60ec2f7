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

from django.db import connection

from tests import processes
from tests.processes import ROOT, free_port


def manage(database_url, var_dir, *arguments):
    """Run a management command on a database; return the last line of what it printed."""
    env = {"PATH": os.environ["PATH"], "VAR_DIR": str(var_dir), "DATABASE_URL": database_url}
    return processes.manage(env, *arguments)


@contextlib.contextmanager
def gunicorn(database_url, var_dir, **options):
    """Serve service A, or another module; give its port, and stop it afterwards."""
    with running(database_url, var_dir, **options) as (port, _server):
        yield port


@contextlib.contextmanager
def running(
    database_url,
    var_dir,
    *,
    stderr=subprocess.DEVNULL,
    workers=1,
    threads=4,
    graceful_seconds=3,
    module="config.wsgi",
    **environment,
):
    """Serve service A, or another module; give its port and its process, and stop it afterwards."""
    port = free_port()
    env = {
        "PATH": os.environ["PATH"], "DATABASE_URL": database_url, "VAR_DIR": str(var_dir),
        "SECRET_KEY": secrets.token_urlsafe(64), "BASE_URL": f"http://127.0.0.1:{port}/v1", **environment,
    }  # fmt: skip
    command = [
        sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "--bind", f"127.0.0.1:{port}",
        "--workers", str(workers), "--threads", str(threads), "--graceful-timeout", str(graceful_seconds), module,
    ]  # fmt: skip
    server = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=stderr,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(port, server)
        yield port, server
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(15)
        # Its workers too: one that outlives its master would keep its connection to the test's database.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


@contextlib.contextmanager
def metrics_server(database_url, var_dir, **environment):
    """Run `serve_metrics`; give its port, and stop it afterwards."""
    port = free_port()
    env = {"PATH": os.environ["PATH"], "DATABASE_URL": database_url, "VAR_DIR": str(var_dir), **environment}
    server = subprocess.Popen(
        [sys.executable, "manage.py", "serve_metrics", "--json"],
        cwd=ROOT, env={**env, "METRICS_PORT": str(port)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(port, server)
        yield port
    finally:
        server.terminate()
        server.communicate(timeout=15)


def scrape(port):
    """Return the values of one scrape by their name with its labels."""
    answer = exchange(port, request("GET", "/metrics"))
    assert status_of(answer) == 200, answer
    lines = [line for line in body_of(answer).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def workers_of(port):
    """Return the process ids of the gunicorn workers that listen on a port."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if f"127.0.0.1:{port}".encode() in command and b"gunicorn" in command:
            found.append((int(process.name), int(parent)))
    pids = {pid for pid, _ in found}
    return [pid for pid, parent in found if parent in pids]


def own_database_url(user=None):
    """Return the address of the test's own PostgreSQL database."""
    here = connection.settings_dict
    who = user or here["USER"]
    password = f":{here['PASSWORD']}" if here["PASSWORD"] and not user else ""
    return f"postgres://{who}{password}@{here['HOST'] or '127.0.0.1'}:{here['PORT'] or 5432}/{here['NAME']}"


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


def prompt_answer(port, data, seconds):
    """Ask until an answer comes within so many seconds, and return it; a busy machine has its moments."""
    for _ in range(5):
        began = time.monotonic()
        answer = exchange(port, data, 30)
        if time.monotonic() - began < seconds:
            return answer
    raise AssertionError(f"five answers, and none within {seconds} s")


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
