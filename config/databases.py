"""The databases of a process, made from the addresses in its environment."""

from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

# A transaction that sits idle this long belongs to a process that was paused or lost: the server ends it, which
# frees the Idempotency-Key it held and fences the process off should it wake up.
IDLE_TRANSACTION_SECONDS = 90


def database_of(url: str, *, statement_timeout_seconds: int, variable: str = "DATABASE_URL") -> dict[str, Any]:
    """Return the Django database entry of a `postgres://` or `sqlite:///` URL.

    `statement_timeout_seconds` of zero means no limit. Raises ImproperlyConfigured, naming the `variable` that the URL
    came from, for any other URL.
    """
    try:
        entry = dict(environ.Env.db_url_config(url))
    except (ValueError, environ.ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{variable} is not a postgres:// or sqlite:/// address.") from error
    # A connection lives as long as the worker thread that uses it: opening one costs more than most requests.
    entry["CONN_MAX_AGE"] = None
    if "sqlite" in str(entry.get("ENGINE")):
        entry["OPTIONS"] = {
            # IMMEDIATE takes the write lock at BEGIN: two read-modify-write transactions wait instead of failing.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        }
        return entry
    if "postgresql" not in str(entry.get("ENGINE")):
        raise ImproperlyConfigured(f"{variable} must begin with postgres:// or sqlite:///.")
    settings_of_session = [f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_SECONDS}s"]
    if statement_timeout_seconds:
        settings_of_session += [f"-c statement_timeout={statement_timeout_seconds}s", "-c lock_timeout=5s"]
    options = dict(entry.get("OPTIONS", {}))
    options.setdefault("connect_timeout", 3)
    # Not the driver's to know: `config.api.execution` alone has statements prepared, after so many executions. Behind a
    # pooler that cannot carry prepared statements, put `?prepare_threshold=1000000000` on the address.
    entry["PREPARE_THRESHOLD"] = options.pop("prepare_threshold", 2)
    options["options"] = " ".join([str(options.get("options", "")), *settings_of_session]).strip()
    entry["OPTIONS"] = options
    return entry


def replicas_of(urls: list[str], primary: dict[str, Any], *, statement_timeout_seconds: int) -> dict[str, Any]:
    """Return the database entries of the primary's streaming replicas, by alias: `replica1` and following.

    Raises ImproperlyConfigured unless primary and replicas are PostgreSQL.
    """
    entries = {}
    for number, url in enumerate(urls, start=1):
        entry = database_of(url, statement_timeout_seconds=statement_timeout_seconds, variable="DATABASE_REPLICA_URLS")
        if not entry["ENGINE"] == primary["ENGINE"] == "django.db.backends.postgresql":
            raise ImproperlyConfigured("DATABASE_REPLICA_URLS needs postgres:// there and in DATABASE_URL.")
        # A machine that went away without a word must not hold a request for long: the primary would answer it.
        entry["OPTIONS"] |= {"connect_timeout": 2, "tcp_user_timeout": 3000}
        entry["OPTIONS"]["options"] += " -c default_transaction_read_only=on"
        entry["TEST"] = {"MIRROR": "default"}
        entries[f"replica{number}"] = entry
    return entries
