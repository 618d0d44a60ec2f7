"""Run gunicorn on 127.0.0.1, and send it raw requests."""

import contextlib
import os
import secrets
import socket
import sys
from pathlib import Path

from tests import processes
from tests.bench import server as bench
from tests.processes import PATIENCE_SECONDS, free_port


def environment_of(database_url, var_dir, **more):
    """Return the environment of a process that uses a database, and the secrets in a folder."""
    return {"PATH": os.environ["PATH"], "DATABASE_URL": database_url, "VAR_DIR": str(var_dir), **more}


def manage(database_url, var_dir, *arguments):
    """Run a management command with a database; return the last line of its output."""
    return processes.manage(environment_of(database_url, var_dir), *arguments)


@contextlib.contextmanager
def gunicorn(database_url, var_dir, **options):
    """Run gunicorn with the platform or another module until the block ends; yield its port."""
    with running(database_url, var_dir, **options) as server:
        yield server.port


def running(
    database_url, var_dir, *, stderr=None, workers=1, threads=4, graceful_seconds=3, module="config.wsgi", **environment
):
    """Run gunicorn with the platform or another module until the block ends; yield the `Server`."""
    port = free_port()
    own = {"SECRET_KEY": secrets.token_urlsafe(64), "BASE_URL": f"http://127.0.0.1:{port}/v1"}
    env = environment_of(database_url, var_dir, **own | environment)
    options = ["--workers", workers, "--threads", threads, "--graceful-timeout", graceful_seconds]
    return bench.serve(module, bench.gunicorn(module, *map(str, options)), env, port=port, output=stderr)


@contextlib.contextmanager
def metrics_server(database_url, var_dir, **environment):
    """Run `serve_metrics` until the block ends; yield its port."""
    port, command = free_port(), [sys.executable, "manage.py", "serve_metrics", "--json"]
    env = environment_of(database_url, var_dir, METRICS_PORT=str(port), **environment)
    with bench.serve("metrics", command, env, port=port):
        yield port


def scrape(port):
    """Request the metrics; return the values by name with labels."""
    answer = exchange(port, request("GET", "/metrics"))
    assert status_of(answer) == 200, answer
    lines = [line for line in body_of(answer).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def workers_of(port):
    """Return the process IDs of the gunicorn workers that listen on a port."""
    results = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if f"127.0.0.1:{port}".encode() in command and b"gunicorn" in command:
            results.append((int(process.name), int(parent)))
    pids = {pid for pid, _ in results}
    return [pid for pid, parent in results if parent in pids]


def exchange(port, data, timeout=PATIENCE_SECONDS):
    """Send bytes; return all received bytes until the server closes the connection or the timeout expires."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(data)
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while chunk := connection.recv(65_536):
                received += chunk
    return received


def request(method, target, body=b"", *headers, version="HTTP/1.1", host="127.0.0.1"):
    """Build an HTTP request with `Connection: close`."""
    lines = [f"{method} {target} {version}", *([f"Host: {host}"] if host is not None else []), *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def status_of(answer):
    """Return the status of the first response in the received bytes, or 0 if there is no response."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


def body_of(answer):
    """Return the body of a response that is not chunked."""
    return answer.partition(b"\r\n\r\n")[2]
