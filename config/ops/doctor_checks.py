"""What `manage.py doctor` asks about what all apps share: keys, database, clock, Redis, settings."""

from django.conf import settings
from django.core.cache import caches
from django.db import connections, models
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from config import env as environment
from config.core.databases import IDLE_TRANSACTION_SECONDS
from config.core.encryption import EncryptedTextField, Unreadable, encrypted_fields, kind_of
from config.ops.doctor import Failed, Warned, register

CLOCK_SECONDS_MAX = 2.0  # a lease or a signature's time window must not depend on which clock was asked
_SAMPLE_ROWS = 3


def _opens(model: type[models.Model], field: EncryptedTextField) -> tuple[int, int]:
    """Return how many of some values of a column were looked at, and how many of them opened."""
    rows = model._default_manager.filter(**{f"{field.name}__isnull": False}).values_list(field.name, flat=True)
    found = [*rows.order_by("pk")[:_SAMPLE_ROWS], *rows.order_by("-pk")[:_SAMPLE_ROWS]]
    return len(found), sum(not isinstance(value, Unreadable) for value in found)


def check_encryption_keys() -> str:
    """Open stored values of each encrypted column: the oldest ones and the newest.

    One row that does not open is set aside when it is needed. A column of which nothing opens was written with other
    keys, unless all that it holds is that one row and the keys fit everywhere else.
    """
    closed, opened, alone = [], 0, True
    for model, field in encrypted_fields():
        seen, readable = _opens(model, field)
        opened += readable
        if seen and not readable:
            closed.append(kind_of(model, field))
            alone = alone and seen <= 2  # one row is seen from both ends
    if closed and not (alone and opened):
        raise Failed(
            f"FIELD_ENCRYPTION_KEYS does not open what is stored in {', '.join(closed)}: "
            "add the key that it was encrypted with."
        )
    return f"{opened} stored values opened"


def check_migrations() -> str:
    """Compare the migrations of this program with those that were applied."""
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


def check_role() -> str:
    """Ask whether the role could change the tables that it serves."""
    owned = _asked("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tableowner = current_user")
    if owned is None:
        return "no roles on this engine"
    if owned != "0":
        raise Warned(f"the role owns {owned} tables, and could switch off what keeps histories from being changed.")
    return "owns no table"


def check_timeouts() -> str:
    """Ask whether the session has the limits that it was opened with."""
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


def check_clock() -> str:
    """Compare this machine's clock with the database's."""
    there = _asked("SELECT extract(epoch FROM clock_timestamp())")
    if there is None:
        return "the database has no clock of its own"
    apart = abs(timezone.now().timestamp() - float(there))
    if apart > CLOCK_SECONDS_MAX:
        raise Failed(f"This clock and the database's are {apart:.1f} s apart: let both follow the same time servers.")
    return f"{apart:.1f} s from the database's"


def check_redis() -> str:
    """Ask Redis anything, where it is used."""
    if not settings.REDIS_URL:
        return "not used"
    try:
        caches["default"].get("doctor")
    except Exception as error:  # the client has many kinds, and each means the same here
        raise Failed(f"Redis does not answer at REDIS_URL ({type(error).__name__}).") from error
    return "answers"


def check_production() -> str:
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
    if environment.text("FAULT_POINT"):
        wrong.append("FAULT_POINT is set, which kills processes on purpose")
    if settings.ANCHOR_DECISIONS and not settings.LEDGER_CLIENT_KEY:
        wrong.append("ANCHOR_DECISIONS needs LEDGER_CLIENT_KEY")
    if wrong:
        raise Failed("; ".join(wrong) + ".")
    return "set for production"


def register_shared() -> None:
    """Register the checks of this module."""
    register("encryption_keys", check_encryption_keys, at_start=True)
    register("migrations", check_migrations)
    register("database_role", check_role)
    register("session_timeouts", check_timeouts)
    register("clock", check_clock)
    register("redis", check_redis)
    register("production", check_production)
