"""What must hold around the program: `manage.py doctor` asks all of it, and each server some of it at its start.

A check is a function that returns what it found, in a few words, or raises Failed or Warned with a sentence that says
what to do. It only reads. An app registers its own in its `ready()`.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from config.core.databases import IDLE_TRANSACTION_SECONDS

CLOCK_SECONDS_MAX = 2.0  # a lease or a signature's time window must not depend on which clock was asked


class Failed(Exception):
    """What is wrong, and what to do."""


class Warned(Exception):
    """What had better be otherwise."""


Check = Callable[[], str]


def register(name: str, check: Check, *, at_start: bool = False) -> None:
    """Add a check; one that fails `at_start` keeps a server from serving."""
    _checks[name] = check
    if at_start:
        _at_start.add(name)


def examine() -> list[dict[str, Any]]:
    """Make every check: its `name`, whether it is `ok`, and `why`. What a check cannot ask counts as failed."""
    return [{"name": name, **_outcome(check)} for name, check in _checks.items()]


def _outcome(check: Check) -> dict[str, Any]:
    try:
        return {"ok": True, "why": check()}
    except Warned as warning:
        return {"ok": True, "why": f"warning: {warning}"}
    except (Failed, ImproperlyConfigured) as failure:
        return {"ok": False, "why": str(failure)}
    except (DatabaseError, InterfaceError) as error:
        reason = str(error).strip().partition("\n")[0]
        return {"ok": False, "why": f"the database does not answer this: {reason}"}


def require_at_start() -> None:
    """Raise ImproperlyConfigured when a check that is made at the start fails.

    A database that is away, or not migrated yet, is no reason: a server starts without it, and says so at `/health`.
    """
    for name in _at_start:
        try:
            _checks[name]()
        except Failed as failure:
            raise ImproperlyConfigured(str(failure)) from None
        except (Warned, DatabaseError, InterfaceError):
            continue


def _check_migrations() -> str:
    missing = []
    for alias in connections:
        if alias not in settings.DATABASE_REPLICAS:
            executor = MigrationExecutor(connections[alias])
            missing += executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise Failed(f"{len(missing)} migrations are not applied: run `manage.py migrate` for each database.")
    return "all applied"


def _asked(statement: str) -> str | None:
    """Return the first column of what PostgreSQL answers; None on another engine."""
    connection = connections["default"]
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return str(cursor.fetchone()[0])


def _check_role() -> str:
    owned = _asked("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tableowner = current_user")
    if owned is None:
        return "no roles on this engine"
    if owned != "0":
        raise Warned(f"the role owns {owned} tables, and could switch off what keeps histories from being changed.")
    return "owns no table"


def _check_timeouts() -> str:
    given = _asked("SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'")
    if given is None:
        return "no session limits on this engine"
    if int(given) != IDLE_TRANSACTION_SECONDS * 1000:
        raise Failed(
            f"idle_in_transaction_session_timeout is {given} ms: a pooler in between drops what a session asks for. "
            f"Set it with ALTER ROLE … SET idle_in_transaction_session_timeout = '{IDLE_TRANSACTION_SECONDS}s', "
            "statement_timeout and lock_timeout likewise."
        )
    return "as asked for"


def _check_clock() -> str:
    there = _asked("SELECT extract(epoch FROM clock_timestamp())")
    if there is None:
        return "the database has no clock of its own"
    apart = abs(timezone.now().timestamp() - float(there))
    if apart > CLOCK_SECONDS_MAX:
        raise Failed(f"This clock and the database's are {apart:.1f} s apart: let both follow the same time servers.")
    return f"{apart:.1f} s from the database's"


def _check_redis() -> str:
    if not settings.REDIS_URL:
        return "not used"
    try:
        caches["default"].get("doctor")
    except Exception as error:  # the client has many kinds, and each means the same here
        raise Failed(f"Redis does not answer at REDIS_URL ({type(error).__name__}).") from error
    return "answers"


def _check_production() -> str:
    """Look for settings that are right while developing and wrong where people are served."""
    if not settings.PRODUCTION:
        return "development"
    sandboxes = [name for name in ("CARD_PROCESSOR", "OPEN_BANKING", "CUSTODY") if getattr(settings, name) == "sandbox"]
    if not settings.SETTLEMENT_RPC_URL:
        sandboxes.append("SETTLEMENT_RPC_URL (unset)")
    wrong = []
    if sandboxes and not settings.ALLOW_SANDBOX:
        wrong.append(f"{', '.join(sandboxes)}: providers are simulated; set real ones, or ALLOW_SANDBOX=1")
    if settings.REVIEW_POLICY == "open":
        wrong.append("REVIEW_POLICY=open lets applicants approve themselves")
    if settings.ANCHOR_DECISIONS and not settings.LEDGER_CLIENT_KEY:
        wrong.append("ANCHOR_DECISIONS needs LEDGER_CLIENT_KEY")
    if wrong:
        raise Failed("; ".join(wrong) + ".")
    return "set for production"


def _check_ledger_access() -> str:
    """Look whether the ledger would take service A's key, as far as this machine's settings say."""
    if not (settings.PRODUCTION and settings.ANCHOR_DECISIONS):
        return "not needed"
    if hashlib.sha256(settings.LEDGER_CLIENT_KEY.encode()).hexdigest() in settings.LEDGER_API_KEYS:
        return "service A's key is the ledger's"
    raise Warned(
        "LEDGER_API_KEYS lacks the SHA-256 of LEDGER_CLIENT_KEY: a ledger with these settings refuses anchors."
    )


_checks: dict[str, Check] = {
    "migrations": _check_migrations,
    "database_role": _check_role,
    "session_timeouts": _check_timeouts,
    "clock": _check_clock,
    "redis": _check_redis,
    "production": _check_production,
    "ledger_access": _check_ledger_access,
}
_at_start: set[str] = set()
