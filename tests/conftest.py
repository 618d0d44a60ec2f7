"""Define shared fixtures and settings: fast password hashes, empty caches, and API clients."""

import functools
import gc
import math
import os
import shutil
import sys
import tempfile
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection, connections, transaction
from django.db.backends.postgresql.creation import DatabaseCreation
from django.test import TransactionTestCase

from config import env
from config.api import heavy, rate_limits
from config.core import encryption
from config.ops import request_log, rotation
from identity.access import authentication
from identity.access.hashers import RecoveryCodeHasher
from identity.accounts import erasure_log
from tests import databases
from tests.api import ApiClient, client_of
from tests.databases import django_db_keepdb, django_db_modify_db_settings, made_once, migrated, template  # noqa: F401  fixtures
from tests.factories import UserFactory
from tests.properties import register_profiles

# `jsonschema` imports this package for the format `iri`, which no schema uses. Compiling its grammars takes 2 s.
sys.modules.setdefault("rfc3987_syntax", None)
# The costs of a recovery code's hash in production, for the tests of the hash itself.
RECOVERY_CODE_COSTS = {name: getattr(RecoveryCodeHasher, name) for name in ("time_cost", "memory_cost")}


def _drop_with_force(creation, name, _verbosity):
    """Drop a PostgreSQL test database, even with open connections."""
    with creation._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE {creation.connection.ops.quote_name(name)} WITH (FORCE)")


def pytest_configure(config):
    """Use fast password hashes: their strength is not under test."""
    from django.conf import settings

    # Garbage collection is disabled until the tests start, because the objects of pytest's collection phase exist until
    # the end.
    gc.disable()
    register_profiles()
    # A server or browser ended by a test may still be connected when the database is dropped.
    DatabaseCreation._destroy_test_db = _drop_with_force
    # Django would flush, which append-only tables reject, and which would delete rows written by migrations.
    TransactionTestCase._fixture_teardown = lambda _case: empty_database()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    # Each client creates the middleware again, which would list all static files, for longer than most tests take.
    # Servers started by tests list them as in production.
    settings.WHITENOISE_AUTOREFRESH = True
    request_log.FLUSH_SECONDS = 0.0  # Tests call `flush` to write lines.
    rotation.SETTLE_SECONDS = 0.0  # No other process writes.
    RecoveryCodeHasher.time_cost, RecoveryCodeHasher.memory_cost = 1, 8
    # Each run of `doctor` compares every variable of the environment with every setting.
    env._is_near = functools.cache(env._is_near)
    documents = tempfile.mkdtemp(prefix="credit-platform-documents-")
    config.add_cleanup(lambda: shutil.rmtree(documents, ignore_errors=True))
    settings.STORAGES["documents"]["OPTIONS"]["location"] = documents
    erasure_log.path = lambda: Path(documents) / "erasures.jsonl"
    # The files of `make run` in `var/` belong to another database and another port.
    settings.LEDGER_GUARD_FILE = Path(documents) / "ledger-guard.json"
    settings.LEDGER_ORIGIN = urlsplit(settings.CHAIN_URL).netloc
    databases.configure(config, settings.DATABASES["default"])


def pytest_addoption(parser):
    """Add an option with which a second run, on another database, skips repetitions."""
    parser.addoption("--database-only", action="store_true", help="run only the tests whose SQL may differ")


# Each case of these files tests another operation, so all cases run on every database.
_OPERATIONS = tuple(f"tests/test_{name}.py" for name in ("operations", "statements", "examples", "permissions"))


def pytest_collection_modifyitems(config, items):
    """If the option is set, run the first and last case of each test that uses the database."""
    if config.getoption("--database-only"):
        cases = {}
        for item in filter(_uses_database, items):
            is_operation = item.nodeid.startswith(_OPERATIONS)
            cases.setdefault(item.nodeid if is_operation else item.nodeid.partition("[")[0], []).append(item)
        kept = {end for same in cases.values() for end in (same[0], same[-1])}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


def pytest_collection_finish():
    """Enable rare garbage collection for test objects only, because it took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


# CI may skip these: tests of the other database, and validators outside of the repository.
_MAY_BE_MISSING = ("needs PostgreSQL", "needs ../shared")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """In CI (`CI=true`), fail tests that skip for a missing tool: their reasons begin with needs."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true":
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason.startswith("needs ") and not reason.startswith(_MAY_BE_MISSING):
            report.outcome, report.longrepr = "failed", f"In CI this is a failure: {reason}"
    return report


# In these folders, third-party programs process responses. The database has no effect on responses.
_FOREIGN = tuple(
    f"tests/system/{part}"
    for part in ("clients/", "credit/", "docs/", "issuer/", "ledger/test_go", "ledger/test_samples")
)
_SHARED = {"transactional_db", "live_server", "needs_postgresql"}


def _uses_database(item):
    """Return whether a test uses the test database in a way that no other test covers.

    In `tests/system/` only tests that share the database with other processes do.
    """
    fixtures = set(getattr(item, "fixturenames", ()))
    marker = item.get_closest_marker("django_db")
    if "chromium" in fixtures or item.nodeid.startswith(_FOREIGN):
        return False
    if item.nodeid.startswith("tests/system/"):
        return bool(_SHARED & fixtures) or (marker is not None and bool(marker.kwargs.get("transaction")))
    return marker is not None or bool({"db", "django_db_setup", *_SHARED} & fixtures)


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """Empty the caches of credentials, rate-limit permits, and requests before each test, because user ids repeat."""
    request_log.LOG.reset()
    authentication.forget_credentials()
    rate_limits._lots.clear()
    # The value is cached, so that no test counts the statement that reads it.
    encryption.mode.word, encryption.mode.until = encryption.UNBOUND, math.inf
    yield
    erasure_log.path().unlink(missing_ok=True)  # The cache lists accounts of databases that were rolled back.
    authentication.forget_credentials()
    rate_limits._lots.clear()


# Migrations write these rows, and tests do not change the rows.
_KEPT_TABLES = {
    "django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions",
    "ops_installation",
}  # fmt: skip


_FEW_ROWS = 100


@pytest.fixture
def bookless(monkeypatch):
    """Create demos without their ninety days of business, which take seconds."""
    monkeypatch.setattr("credit.demo.book.write", lambda **_given: None)


def empty_database():
    """Delete every row that a test can create, even from append-only tables.

    Only tables with rows are emptied, because PostgreSQL rewrites hundreds of files when all tables are truncated.
    Tables with many rows are truncated: deleting rows checks the references to each.
    """
    connections.close_all()
    quoted = [connection.ops.quote_name(table) for table in _tables()]
    with transaction.atomic(), connection.cursor() as cursor:
        full = _filled(cursor, quoted)
        many = connection.vendor == "postgresql" and _filled(cursor, full, more_than=_FEW_ROWS)
        guards = [guard for table in (quoted if many else full) for guard in _guards_of(cursor, table)]
        for without, _again in guards:
            cursor.execute(without)
        if many:
            cursor.execute(f"TRUNCATE {', '.join(quoted)} CASCADE")
        else:
            for table in full:
                cursor.execute(f"DELETE FROM {table}")
            # References are otherwise checked at the end of the transaction.
            connection.check_constraints()
        for _without, again in guards:
            cursor.execute(again)


def _filled(cursor, tables, more_than=0):
    """Return the tables with more than `count` rows."""
    has_rows = "SELECT '{0}' WHERE EXISTS (SELECT 1 FROM {0} LIMIT 1 OFFSET {1})"
    if not tables:
        return []
    cursor.execute(" UNION ALL ".join(has_rows.format(table, more_than) for table in tables))
    return [table for (table,) in cursor.fetchall()]


@functools.cache
def _tables():
    """Return the names of the tables to empty before each test."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(names) - _KEPT_TABLES)


def _guards_of(cursor, table):
    """Return the statements that disable and enable a table's triggers."""
    if connection.vendor == "postgresql":
        cursor.execute(
            "SELECT quote_ident(tgname) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'A'"
            " AND tgrelid = %s::regclass",
            [table],
        )
        alter = f"ALTER TABLE {table}"
        return [(f"{alter} DISABLE TRIGGER {name}", f"{alter} ENABLE ALWAYS TRIGGER {name}") for (name,) in cursor]
    cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table.strip('"')])
    return [(f"DROP TRIGGER {name}", sql) for name, sql in cursor.fetchall()]


@pytest.fixture
def committed(transactional_db):
    """A database with real commits, for races and other processes, and empty it afterwards."""


@pytest.fixture(scope="session")  # A test is skipped before its database is arranged.
def needs_postgresql():
    """Skip on SQLite, which serializes all writers, so the test would check nothing."""
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: set DATABASE_URL, or TEST_DATABASE_URL for make")


@pytest.fixture
def user(db):
    """Return an account."""
    return UserFactory()


@pytest.fixture
def stranger(db):
    """Return another account."""
    return UserFactory()


@pytest.fixture
def api(user):
    """Return a client that calls as `user`."""
    return client_of(user)


@pytest.fixture
def stranger_api(stranger):
    """Return a client that calls as `stranger`."""
    return client_of(stranger)


@pytest.fixture
def anonymous():
    """Return a client without a credential."""
    return ApiClient()


@pytest.fixture
def key():
    """Return a new Idempotency-Key."""
    return str(uuid.uuid4())


@pytest.fixture
def impatient(monkeypatch):
    """Reject a heavy operation without a free slot after a short wait."""
    monkeypatch.setattr(heavy, "WAIT_SECONDS", 0.01)


@pytest.fixture
def no_rate_limits(settings):
    """Switch rate limits off: their occasional writes would change statement counts."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
