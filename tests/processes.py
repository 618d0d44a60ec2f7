"""Starting what tests and the bench need beside themselves: ports, management commands, databases that pass."""

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

if TYPE_CHECKING:  # the walk has the standard library alone
    import psycopg

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 120  # only what fails takes so long
PASSWORD = "correct horse battery"  # of every account that is made here
# Below those that the kernel gives to whoever connects, so that none is taken between the question and its use.
_FIRST_PORT, _LAST_PORT = 10_000, 30_000


def free_port() -> int:
    """Return a port that nobody uses, and that no other process of ours is given for the next 20,000 questions."""
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
    """Ask until the answer is true, and return it. Raises RuntimeError when it is not for so long."""
    ends = time.monotonic() + seconds
    while not (answer := happened()):
        if time.monotonic() > ends:
            raise RuntimeError(f"still {answer!r} after {seconds:g} s")
        time.sleep(0.02)
    return answer


def listens(port: int) -> bool:
    """Say whether somebody takes connections on a port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """Take a port for the block: it accepts connections and never says anything."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        yield silent.getsockname()[1]


def run_python(
    environment: Mapping[str, str], *arguments: str, folder: Path = ROOT
) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder and in an environment that holds nothing else; how it ended, and what it printed."""
    env = {"PATH": os.environ["PATH"], **environment}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True)


def manage(environment: Mapping[str, str], *arguments: str, folder: Path = ROOT) -> str:
    """Run a management command, of the program in a folder; return the last line that it printed.

    Raises RuntimeError with all of it on failure.
    """
    done = run_python(environment, "manage.py", *arguments, folder=folder)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout.strip().rpartition("\n")[2]


def account_with_key(environment: Mapping[str, str], name: str, *, folder: Path = ROOT) -> tuple[int, str, str]:
    """Make an account with an API key, by the program in a folder; return its id, the key and the key's secret."""
    given = (name, "--password", PASSWORD, "--json")
    user = json.loads(manage(environment, "create_user", *given, folder=folder))
    made = json.loads(manage(environment, "create_api_key", name, "--name", "n", "--json", folder=folder))
    return user["id"], made["key"], made["secret"]


@contextlib.contextmanager
def temporary_database(server: str, name: str, *, template: str = "template1") -> Iterator[str]:
    """Make a PostgreSQL database for the block, on the server of an address; give the database's address.

    It is empty, or a copy of another that nobody is connected to.
    """
    create_database(server, name, template=template)
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        drop_database(server, name)


def create_database(server: str, name: str, *, template: str = "template1") -> None:
    """Make a database on the server of an address, as a copy of another."""
    from psycopg import sql

    command = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with _maintenance(server) as session:
        session.execute(command)


def drop_database(server: str, name: str) -> None:
    """Drop a database on the server of an address if it is there, whoever is connected to it."""
    from psycopg import sql

    with _maintenance(server) as session:
        session.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _maintenance(server: str) -> "psycopg.Connection":
    import psycopg

    return psycopg.connect(urlsplit(server)._replace(path="/postgres").geturl(), autocommit=True)
