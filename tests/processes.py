"""Starting what tests and the bench need beside themselves: ports, management commands, databases that pass."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """Take a port for the block: it accepts connections and never says anything."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        yield silent.getsockname()[1]


def manage(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a management command; return the last line that it printed. Raises RuntimeError with all of it on failure."""
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout.strip().rpartition("\n")[2]


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
    command = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with _maintenance(server) as session:
        session.execute(command)


def drop_database(server: str, name: str) -> None:
    """Drop a database on the server of an address if it is there, whoever is connected to it."""
    with _maintenance(server) as session:
        session.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _maintenance(server: str) -> psycopg.Connection:
    return psycopg.connect(urlsplit(server)._replace(path="/postgres").geturl(), autocommit=True)
