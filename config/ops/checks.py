"""Django checks of the environment: databases, disk, clock, Redis, and settings.

`manage.py doctor` runs the checks with the tag DOCTOR. Each server and worker runs the checks with the tag START when
it starts.

A check changes nothing. It returns an Error with the problem and the remedy, a Warning with a recommendation, or an
Info. Apps register their own checks in `ready()`.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.cache import caches
from django.core.checks.registry import registry
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage, storages
from django.db import DatabaseError, InterfaceError, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from config.core.databases import IDLE_TRANSACTION_SECONDS
from config.core.leases import contain
from config.env import misspelt
from config.ops.models import Installation
from config.ops.static_files import check_static_files

MIB = 1 << 20
FREE_BYTES_MIN = 64 * MIB  # with less free space, the service is unhealthy
FREE_BYTES_LOW = 1024 * MIB  # with less free space, `doctor` warns


def folders() -> Iterator[tuple[str, Path]]:
    yield "VAR_DIR", settings.VAR_DIR
    if settings.SERVICE == "platform":
        documents = storages["documents"]
        if isinstance(documents, FileSystemStorage):
            yield "DOCUMENT_STORAGE", Path(documents.location)


def disk_faults() -> list[str]:
    return [fault for name, folder in folders() if (fault := _fault_of(name, _existing(folder)))]


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _fault_of(name: str, folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return f"can't write to {name}: {error.strerror}."
    return f"{name} has {free // MIB} MiB of free space left." if free < FREE_BYTES_MIN else ""


def check_disk_space(**_options: Any) -> list[checks.CheckMessage]:
    if faults := disk_faults():
        return [checks.Error(fault) for fault in faults]
    free = {name: shutil.disk_usage(_existing(folder)).free for name, folder in folders()}
    low = [f"{name} has {size // MIB} MiB of free space left." for name, size in free.items() if size < FREE_BYTES_LOW]
    return [checks.Warning(text) for text in low] or [
        checks.Info(", ".join(f"{name} {size // MIB} MiB free" for name, size in free.items()))
    ]


DOCTOR, START = "doctor", "start"
CLOCK_SECONDS_MAX = 2.0  # leases and time windows of signatures tolerate this difference

Check = Callable[..., list[checks.CheckMessage]]


def register(check: Check, *tags: str) -> None:
    """Register a check with Django. The check runs only if a command selects databases.

    `check --deploy --database default` runs the check. `migrate` and other commands skip it.
    """

    def run(*, databases: Sequence[str] | None = None, **_options: Any) -> list[checks.CheckMessage]:
        return check(databases=databases) if databases else []

    run.__name__ = check.__name__
    checks.register(run, *tags, checks.Tags.database, deploy=True)


def examine() -> list[dict[str, Any]]:
    """Return `name`, `ok`, and `why` of every check with the tag DOCTOR. A check that can't run has failed."""
    return [{"name": check.__name__.removeprefix("check_"), **_outcome(check)} for check in _tagged(DOCTOR)]


def _tagged(tag: str) -> list[Any]:
    result = [check for check in registry.get_checks(include_deployment_checks=True) if tag in check.tags]
    return sorted(result, key=lambda check: check.__name__)


def _outcome(check: Any) -> dict[str, Any]:
    try:
        messages: Iterable[checks.CheckMessage] = check(databases=list(connections))
    except ImproperlyConfigured as error:
        messages = [checks.Error(str(error))]
    except (DatabaseError, InterfaceError) as error:
        messages = [
            checks.Error(f"the database does not respond to this query: {str(error).strip().partition(chr(10))[0]}")
        ]
    except Exception as error:  # noqa: BLE001  a failed check must not stop other checks
        messages = [checks.Error(f"the check failed: {contain(error, 'check', check.__name__)}")]
    texts = [f"warning: {message.msg}" if message.level == checks.WARNING else str(message.msg) for message in messages]
    return {"ok": not any(message.level >= checks.ERROR for message in messages), "why": "; ".join(texts)}


def require_at_start() -> None:
    """Raise ImproperlyConfigured if a check with the tag START finds an error.

    If a database is unavailable, the server starts, and reports the error at `/health`.
    """
    for check in _tagged(START):
        try:
            messages = check(databases=list(connections))
        except (DatabaseError, InterfaceError):
            continue
        if errors := [str(message.msg) for message in messages if message.level >= checks.ERROR]:
            raise ImproperlyConfigured("; ".join(errors))


def check_installation(databases: Sequence[str]) -> list[checks.CheckMessage]:
    """Check that each database belongs to the ENVIRONMENT of this process.

    A sandbox moves clocks and simulates decisions, so it must not use another environment's database.
    """
    kinds = {alias: _kind_of(alias) for alias in databases}
    errors: list[checks.CheckMessage] = [
        checks.Error(
            f"The database {alias!r} is one of ENVIRONMENT={kind}, and this is ENVIRONMENT={settings.ENVIRONMENT}. "
            "Each environment needs its own database. The first `migrate` stores ENVIRONMENT in it. Set DATABASE_URL "
            "or LEDGER_DATABASE_URL to another database."
        )
        for alias, kind in kinds.items()
        if kind not in {settings.ENVIRONMENT, None}
    ]
    return errors or [checks.Info(settings.ENVIRONMENT)]


def _kind_of(alias: str) -> str | None:
    """Return the environment that a database stores, or None before its first migration."""
    if Installation._meta.db_table not in connections[alias].introspection.table_names():
        return None
    return Installation.objects.using(alias).values_list("kind", flat=True).first()


_UTF8 = "Create it with `createdb --encoding=UTF8 --locale=C.UTF-8 --template=template0`."


def check_tables(databases: Sequence[str]) -> list[checks.CheckMessage]:
    """Check that each database has tables, because every request to an empty database would fail."""
    return [
        checks.Error(f"The database {alias!r} is empty: run `manage.py migrate --database {alias}` first.")
        for alias in databases
        if not MigrationExecutor(connections[alias]).loader.applied_migrations
    ]


def check_spelling(**_options: Any) -> list[checks.CheckMessage]:
    return [checks.Warning(text) for text in misspelt()] or [checks.Info("no name is misspelled")]


def check_encoding(databases: Sequence[str]) -> list[checks.CheckMessage]:
    """Check that each database stores every character, and looks up users without regard to case."""
    faults = []
    for alias in databases:
        encoding = _first_value("SELECT current_setting('server_encoding')", alias)
        if encoding not in {"UTF8", None}:
            faults.append(f"The database {alias!r} has the encoding {encoding}, which lacks most scripts. {_UTF8}")
        elif _first_value("SELECT lower(U&'\\00C9') = U&'\\00E9'", alias) == "False":
            name = f"The collation of the database {alias!r}"
            faults.append(f"{name} ignores the case of letters outside of ASCII. {_UTF8}")
    return [checks.Error(fault) for fault in faults] or [checks.Info("stores every character")]


def check_migrations(databases: Sequence[str]) -> list[checks.CheckMessage]:
    missing = []
    for alias in databases:
        executor = MigrationExecutor(connections[alias])
        missing += executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        return [checks.Error(f"{len(missing)} migrations are not applied: run `manage.py migrate` for each database.")]
    return [checks.Info("all applied")]


def _first_value(statement: str, alias: str = "default") -> str | None:
    """Return the first column of a query's first row.

    Return None if there is no row, or the database is not PostgreSQL.
    """
    connection = connections[alias]
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
        return None if row is None or row[0] is None else str(row[0])


_IS_SUPERUSER = "SELECT 'yes' FROM pg_roles WHERE rolname = current_user AND rolsuper"
_OWNED = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tableowner = current_user"
_OWNER_BEHIND = """
SELECT min(tableowner) FROM pg_tables
WHERE schemaname = current_schema() AND tableowner <> current_user AND pg_has_role(current_user, tableowner, 'MEMBER')
"""
_DELETES_RECORDS = """
SELECT 'yes' FROM pg_class WHERE oid = to_regclass('credit_decisionanchor') AND has_table_privilege(oid, 'DELETE')
"""


def check_database_role(databases: Sequence[str]) -> list[checks.CheckMessage]:
    """Check whether the role of the service could disable the triggers of append-only tables."""
    powers = {alias: _power_of_role(alias) for alias in databases}
    texts = [f"the role in the database {alias!r} {power}" for alias, power in powers.items() if power]
    return [checks.Warning(text) for text in texts] or [checks.Info("owns no table")]


def _power_of_role(alias: str) -> str:
    triggers = ", and could disable the triggers that protect append-only tables"
    if _first_value(_IS_SUPERUSER, alias):
        return f"is a superuser{triggers}"
    if (owned := _first_value(_OWNED, alias)) not in {None, "0"}:
        return f"owns {owned} tables{triggers}"
    if owner := _first_value(_OWNER_BEHIND, alias):
        return f"is a member of {owner}, which owns the tables{triggers}"
    deletes = _first_value(_DELETES_RECORDS, alias)
    return "can delete records for the ledger: run deploy/roles.sql again" if deletes else ""


def check_session_timeouts(**_options: Any) -> list[checks.CheckMessage]:
    setting = _first_value("SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'")
    if setting is None:
        return [checks.Info("no session limits on this engine")]
    if int(setting) != IDLE_TRANSACTION_SECONDS * 1000:
        text = (
            f"idle_in_transaction_session_timeout is {setting} ms: a connection pooler drops the settings of sessions. "
            f"Set it with ALTER ROLE … SET idle_in_transaction_session_timeout = '{IDLE_TRANSACTION_SECONDS}s', "
            "and set statement_timeout and lock_timeout in the same way."
        )
        return [checks.Error(text)]
    return [checks.Info("as configured")]


def check_clock(**_options: Any) -> list[checks.CheckMessage]:
    there = _first_value("SELECT extract(epoch FROM clock_timestamp())")
    if there is None:
        return [checks.Info("the database uses the clock of this machine")]
    apart = abs(timezone.now().timestamp() - float(there))
    if apart > CLOCK_SECONDS_MAX:
        text = f"This clock and the database's are {apart:.1f} s apart: synchronize both with the same time servers."
        return [checks.Error(text)]
    return [checks.Info(f"{apart:.1f} s from the database's")]


def check_redis(**_options: Any) -> list[checks.CheckMessage]:
    if not settings.REDIS_URL:
        return [checks.Info("not used")]
    try:
        caches["default"].get("doctor")
    except Exception as error:  # noqa: BLE001  any error means that Redis does not respond
        return [checks.Error(f"Redis does not respond at REDIS_URL ({type(error).__name__}).")]
    return [checks.Info("answers")]


def check_production(**_options: Any) -> list[checks.CheckMessage]:
    """Check for settings that are allowed only in development."""
    if not settings.PRODUCTION:
        return [checks.Info("development")]
    wrong = [*_wrong_for_both(), *(() if settings.SERVICE == "ledger" else _wrong_for_the_platform())]
    return [checks.Error(text) for text in wrong] or [
        checks.Info(f"set for {'a sandbox' if settings.SANDBOX else 'production'}")
    ]


def _wrong_for_both() -> Iterator[str]:
    if "*" in settings.ALLOWED_HOSTS:
        yield "ALLOWED_HOSTS=* accepts every host name: set it to your host names"
    on_sqlite = [alias for alias, database in settings.DATABASES.items() if database["ENGINE"].endswith("sqlite3")]
    if on_sqlite and not settings.ALLOW_SANDBOX:
        names = ("LEDGER_DATABASE_URL" if alias == "ledger" else "DATABASE_URL" for alias in on_sqlite)
        yield f"{', '.join(names)}: SQLite is for trials only; set postgres://…, or ALLOW_SANDBOX=1"


def _wrong_for_the_platform() -> Iterator[str]:
    vendors = ("CARD_PROCESSOR", "OPEN_BANKING", "CUSTODY", "REPORTS")
    simulated = [name for name in vendors if getattr(settings, name) == "sandbox"]
    simulated += [] if settings.SETTLEMENT_RPC_URL else ["SETTLEMENT_RPC_URL (unset)"]
    if simulated and not settings.SANDBOX and not settings.ALLOW_SANDBOX:
        yield f"{', '.join(simulated)}: vendors are simulated; set real vendors, or ALLOW_SANDBOX=1"
    if settings.REVIEW_POLICY == "open":
        yield "REVIEW_POLICY=open lets applicants approve themselves: set it to reviewed or four_eyes"
    if not settings.BACKOFFICE_SECOND_FACTOR:
        yield "BACKOFFICE_SECOND_FACTOR=0 allows staff to log in with only a password: unset it"
    if settings.ANCHOR_DECISIONS and not settings.LEDGER_CLIENT_KEY:
        yield "ANCHOR_DECISIONS requires LEDGER_CLIENT_KEY"


for _check in (check_migrations, check_database_role, check_session_timeouts, check_clock, check_redis):
    register(_check, DOCTOR)
register(check_tables, START)
register(check_encoding, DOCTOR, START)
register(check_disk_space, DOCTOR)
register(check_spelling, DOCTOR)
register(check_static_files, DOCTOR)
register(check_installation, DOCTOR, START)
register(check_production, DOCTOR, START)
