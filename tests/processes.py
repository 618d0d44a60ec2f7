"""Start processes for tests and the bench, with ports, management commands, and temporary databases."""

import contextlib
import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:  # The end-to-end test has only the standard library.
    import psycopg

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 120  # Only failures take this long.
PASSWORD = "correct horse battery"  # Every account created here has this password.
# The ports are below the kernel's ephemeral ports, so that no client gets a chosen port before its use.
_FIRST_PORT, _LAST_PORT = 10_000, 30_000


def free_port() -> int:
    """Return a free port, which no other process of ours gets during the next 20,000 calls."""
    with Path(tempfile.gettempdir(), f"ports-of-tests-{os.getuid()}").open("a+") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        kept.seek(0)
        port = int(kept.read() or _FIRST_PORT)
        while True:
            port = port + 1 if port < _LAST_PORT else _FIRST_PORT
            with contextlib.suppress(OSError), socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
                kept.truncate(0)
                kept.write(str(port))
                return port


def wait_until(happened: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS) -> Any:
    """Poll until the result is true, and return it. Raises RuntimeError if it stays false."""
    ends = time.monotonic() + seconds
    while not (answer := happened()):
        if time.monotonic() > ends:
            raise RuntimeError(f"still {answer!r} after {seconds:g} s")
        time.sleep(0.02)
    return answer


def listens(port: int) -> bool:
    """Return whether a server accepts connections on a port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """Listen on a port during the block: it accepts connections and never responds."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        yield silent.getsockname()[1]


def run_python(
    environment: Mapping[str, str], *arguments: str, folder: Path = ROOT
) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder with only this environment; return its exit status and output."""
    env = {"PATH": os.environ["PATH"], **environment}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True)


def manage(environment: Mapping[str, str], *arguments: str, folder: Path = ROOT) -> str:
    """Run a management command of the program in a folder; return the last line of its output.

    Raises RuntimeError with the whole output on failure.
    """
    done = run_python(environment, "manage.py", *arguments, folder=folder)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout.strip().rpartition("\n")[2]


def account_with_key(environment: Mapping[str, str], name: str, *, folder: Path = ROOT) -> tuple[int, str, str]:
    """Create an account with an API key, with the program in a folder; return its id, the key and the key's secret."""
    arguments = (name, "--password", PASSWORD, "--json")
    user = json.loads(manage(environment, "create_user", *arguments, folder=folder))
    document = json.loads(manage(environment, "create_api_key", name, "--name", "n", "--json", folder=folder))
    return user["id"], document["key"], document["secret"]


@contextlib.contextmanager
def temporary_database(server: str, name: str, *, template: str = "template1") -> Iterator[str]:
    """Create a PostgreSQL database for the block, on the server of an address; yield the database's address.

    It is empty, or a copy of another database without connections.
    """
    create_database(server, name, template=template)
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        drop_database(server, name)


def create_database(server: str, name: str, *, template: str = "template1") -> None:
    """Create the database `name` on the server with this URL, as a copy of the database `template`."""
    from psycopg import sql

    command = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with _maintenance(server) as session:
        session.execute(command)


def drop_database(server: str, name: str) -> None:
    """Drop a database on the server of an address if it exists, even with open connections."""
    from psycopg import sql

    with _maintenance(server) as session:
        session.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _maintenance(server: str) -> "psycopg.Connection":
    import psycopg

    return psycopg.connect(urlsplit(server)._replace(path="/postgres").geturl(), autocommit=True)
