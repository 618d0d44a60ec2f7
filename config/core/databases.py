"""Database settings from the URLs in the environment, and handling of database errors, locks, and deadlocks."""

import fcntl
import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from django.core.exceptions import ImproperlyConfigured
from django.db.utils import DatabaseError, InterfaceError, InternalError, OperationalError

from config.env import close_to_others

logger = logging.getLogger("platform.database")
_AWAY_LOG_SECONDS = 60.0
_logged_away_at: dict[str, float] = {}  # the time of the last log line for each reason

# PostgreSQL ends a transaction that is idle for this time, because its process is paused or dead. This releases the
# request's Idempotency-Key.
IDLE_TRANSACTION_SECONDS = 90
_LOOK_SECONDS = 0.25
_READ_ONLY_SQLSTATE = "25006"
_RETRIABLE_SQLSTATES = {"40001", "40P01"}  # serialization failure, deadlock
# A transaction that evaluates this expression commits without waiting for the disk. A crash can lose the transaction.
UNAWAITED = "set_config('synchronous_commit', 'off', true)"

Result = TypeVar("Result")


def database_of(url: str, *, statement_timeout_seconds: int, variable: str = "DATABASE_URL") -> dict[str, Any]:
    """Return Django's DATABASES entry for a `postgres://` or `sqlite:///` URL.

    For an invalid URL, raises ImproperlyConfigured with the name of the `variable`. If `statement_timeout_seconds` is
    0, statements have no time limit.
    """
    scheme = url.partition(":")[0]
    if scheme not in {"postgres", "postgresql", "sqlite"}:
        raise ImproperlyConfigured(f"{variable} must begin with postgres:// or sqlite:///.")
    try:
        entry = parse_address(url)
    except ValueError as error:
        raise ImproperlyConfigured(f"{variable} is not a postgres:// or sqlite:/// URL.") from error
    # Opening a connection costs more than most requests, so a thread keeps its connection.
    entry["CONN_MAX_AGE"] = None
    # If the server closed a connection, the next request opens a new one instead of failing.
    entry["CONN_HEALTH_CHECKS"] = True
    if scheme == "sqlite":
        _create_private_file(str(entry["NAME"]))
        entry["OPTIONS"] = {
            # With IMMEDIATE, concurrent read-modify-write transactions wait at BEGIN instead of failing.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # SQLite overwrites deleted values with zeros, so that an erasure removes them from the file.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; "
            "PRAGMA secure_delete=ON;",
        }
        return entry
    if not entry["NAME"]:
        raise ImproperlyConfigured(f"{variable} has no database name: postgres://user:password@host:5432/name.")
    # If the session begins in UTC, Django sends no statement to set the time zone.
    settings_of_session = ["-c TimeZone=UTC", f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_SECONDS}s"]
    if statement_timeout_seconds:
        settings_of_session += [f"-c statement_timeout={statement_timeout_seconds}s", "-c lock_timeout=5s"]
    entry["ENGINE"] = "config.core.postgresql"
    options = entry["OPTIONS"]
    options["connect_timeout"] = _whole_number(options, "connect_timeout", 3, variable=variable)
    # The server prepares a statement of `config.core.prepared` after this number of executions. If a pooler does not
    # support prepared statements, operators add `?prepare_threshold=1000000000` to the URL.
    options["prepare_threshold"] = _whole_number(options, "prepare_threshold", 2, variable=variable)
    # Some proxies reject the startup parameter `options`, or dedicate a server connection to the client. With
    # `?startup_options=0`, the role has these settings instead (deploy/roles.sql).
    if _whole_number({"startup_options": options.pop("startup_options", 1)}, "startup_options", 1, variable=variable):
        options["options"] = " ".join([str(options.get("options", "")), *settings_of_session]).strip()
    return entry


def parse_address(url: str) -> dict[str, Any]:
    """Return ENGINE, NAME, HOST, PORT, USER, PASSWORD, and the query as OPTIONS. Raises ValueError."""
    address, _, query = url.partition("?")
    if address.startswith("sqlite:"):
        if not re.fullmatch("sqlite://(/.*|:memory:)?", address):
            raise ValueError("not a SQLite URL")
        name = unquote(address.removeprefix("sqlite://").removeprefix("/"))
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": name or ":memory:"}
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        # libpq parses the URL: percent-encoding, IPv6, several hosts. It rejects unknown options.
        parts = conninfo_to_dict(address)
    except ProgrammingError:
        raise ValueError("not a PostgreSQL URL") from None  # libpq's message contains the password
    port = str(parts.get("port", ""))
    if not re.fullmatch("[0-9,]*", port):
        raise ValueError("the port is not a number")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.get("dbname", ""),
        "USER": parts.get("user", ""),
        "PASSWORD": parts.get("password", ""),
        "HOST": parts.get("host", ""),
        "PORT": port,
        "OPTIONS": dict(parse_qsl(query)),
    }


def _create_private_file(name: str) -> None:
    """Create the database file with access only for its owner. SQLite would create a file that all users can read."""
    if name == ":memory:":
        return
    with suppress(OSError):  # SQLite later reports a problem with the path
        os.close(os.open(name, os.O_CREAT | os.O_RDONLY, 0o600))
    for suffix in ("", "-wal", "-shm"):
        close_to_others(Path(name + suffix))


def _whole_number(options: dict[str, Any], name: str, default: int, *, variable: str) -> int:
    text = str(options.get(name, default))
    if not (text.isascii() and text.isdigit()):
        raise ImproperlyConfigured(f"{variable}: {name}={text!r} must be a whole number.")
    return int(text)


def is_away(error: BaseException | None) -> bool:
    """Check whether an error means that the database is unavailable, so that a retry may succeed.

    A demoted primary rejects writes. The database counts as unavailable until connections reach the new primary.
    """
    if isinstance(error, InternalError) or type(error) is DatabaseError:
        # Errors of the driver itself have no SQLSTATE. Such an error means that the connection broke during a
        # statement.
        return getattr(error.__cause__, "sqlstate", "") in {None, _READ_ONLY_SQLSTATE}
    return isinstance(error, OperationalError | InterfaceError)


def log_away(error: BaseException) -> None:
    """Log the host and the reason of an unavailable database, at most once per minute and reason."""
    from django.conf import settings  # the settings import this module

    cause = error.__cause__ or error
    reason = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None) or type(cause).__name__
    if time.monotonic() - _logged_away_at.get(reason, -math.inf) < _AWAY_LOG_SECONDS:
        return
    _logged_away_at[reason] = time.monotonic()
    where = ", ".join(sorted({str(database["HOST"] or database["NAME"]) for database in settings.DATABASES.values()}))
    logger.warning("database unavailable: %s at %s", reason, where)


def is_disk_full(error: BaseException) -> bool:
    """Check whether a statement failed because the database's disk is full."""
    cause = error.__cause__
    return getattr(cause, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(cause, "sqlstate", "") == "53100"


@contextmanager
def unawaited() -> Iterator[None]:
    """Commit the block without waiting for the disk or for a standby.

    A crash may lose the rows, so use this only for rows such as the time of a key's last use. Requests that only read
    data also write these rows, and must not wait for a standby.
    """
    from django.db import connection, transaction

    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT {UNAWAITED}")
        yield


@contextmanager
def advisory_lock(alias: str, *, purpose: str) -> Iterator[None]:
    """Run a block under an exclusive lock across all machines. Other callers wait until the block ends.

    On PostgreSQL, a separate connection acquires an advisory lock, which ends with the process. SQLite runs on one
    machine, so a file next to the database is locked. An in-memory database needs no lock.
    """
    from django.db import connections  # `django.db` requires the settings

    connection = connections[alias]
    if connection.vendor == "postgresql":
        holder = connections.create_connection(alias)
        try:
            # A pooler supports only locks that belong to a transaction, so the lock needs a transaction without time
            # limits.
            holder.set_autocommit(False)
            with holder.cursor() as cursor:
                for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
                    cursor.execute(f"SET LOCAL {limit} = 0")
                # This code polls, because a statement that waits for the lock has a snapshot. CREATE INDEX CONCURRENTLY
                # in the process with the lock would wait until the snapshot ends.
                while True:
                    cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [f"credit-platform {purpose}"])
                    if cursor.fetchone()[0]:
                        break
                    time.sleep(_LOOK_SECONDS)
            yield
        finally:
            holder.close()
        return
    name = str(connection.settings_dict["NAME"])
    if connection.vendor != "sqlite" or not name or ":memory:" in name or "mode=memory" in name:
        yield
        return
    lock = Path(f"{name}.{purpose}-lock")
    try:
        lock.touch()
    except OSError as error:  # the connection reports that the database file can't be opened
        raise OperationalError(f"unable to open {name}: {error.strerror}") from error
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def retry_deadlocks(work: Callable[[], Result], *, tries: int = 3) -> Result:
    """Call `work`, up to `tries` times after deadlocks. `work` manages its own transactions."""
    for attempt in range(1, tries + 1):
        try:
            return work()
        except OperationalError as error:
            sqlstate = getattr(error.__cause__, "sqlstate", None)
            if attempt == tries or sqlstate not in _RETRIABLE_SQLSTATES:
                raise
    raise AssertionError("the loop returns or raises")
