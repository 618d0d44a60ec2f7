"""Create each test database once and copy it, because a migration takes many seconds."""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from django.db import connection

from tests.processes import ROOT, create_database, drop_database, manage

_TEMPLATE = pytest.StashKey[str]()


def configure(config, database):
    """Set the location of the test database in Django's settings of the real database."""
    if "sqlite" in database["ENGINE"]:
        # A file, as in production: connections to an in-memory database share a cache and lock each other out.
        folder = tempfile.mkdtemp(prefix="credit-platform-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        database.setdefault("TEST", {})["NAME"] = f"{folder}/platform.sqlite3"
        return
    # The server outlives the tests, so commits need not be durable. Started processes use the settings of production.
    options = database["OPTIONS"]
    options["options"] = f"{options.get('options', '')} -c synchronous_commit=off".strip()
    template = config.stash[_TEMPLATE] = f"test_{database['NAME']}_template"
    if not hasattr(config, "workerinput"):  # The main process ends last.

        def drop():
            with suppress(psycopg.OperationalError):  # The server may never have been reached.
                drop_database(own_database_url(), template)

        config.add_cleanup(drop)


def own_database_url(user=None):
    """Return the URL of the test's own database; on PostgreSQL optionally with another user."""
    here = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{here['NAME']}"
    who = user or here["USER"]
    password = f":{quote(here['PASSWORD'], safe='')}" if here["PASSWORD"] and not user else ""
    return f"postgres://{who}{password}@{here['HOST'] or '127.0.0.1'}:{here['PORT'] or 5432}/{here['NAME']}"


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Return a function that creates a path once per run: the first process that requests it creates it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def ask(name, make):
        place = folder / name
        with (folder / f"{name}.lock").open("a") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            if not place.exists():
                making = folder / f"{name}.making"
                make(making)
                making.rename(place)
        return place

    return ask


def migrate(address, folder):
    manage({"PATH": os.environ["PATH"], "VAR_DIR": str(folder), "DATABASE_URL": address}, "migrate", "--verbosity", "0")


def store_environment(address, kind):
    """Store another environment in a database: see `Installation`."""
    statement = f"UPDATE ops_installation SET kind = '{kind}'"
    if address.startswith("sqlite"):
        with closing(sqlite3.connect(urlsplit(address).path)) as here:
            here.execute(statement)
            here.commit()
    else:
        with psycopg.connect(address) as here:
            here.execute(statement)


# Migrations depend on these files, and on packages with migrations.
_MIGRATIONS = (
    "*/migrations/*.py", "*/*/migrations/*.py", "config/core/*.py", "ledger/triggers.py", "requirements.txt",
)  # fmt: skip


def _fingerprint():
    """Return a hash that changes when a migration changes."""
    digest = hashlib.sha256()
    for file in sorted({file for pattern in _MIGRATIONS for file in ROOT.glob(pattern)}):
        digest.update(f"{file.relative_to(ROOT)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="session")
def migrated():
    """Return a migrated SQLite file to copy. It is stored in `var/`, and reused until a migration changes."""
    folder = ROOT / "var" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"migrated-{_fingerprint()}.sqlite3"
    with (folder / "lock").open("a") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if not file.exists():
            for older in folder.glob("migrated-*"):
                older.unlink()
            with tempfile.TemporaryDirectory() as place:
                migrate(f"sqlite:///{place}/made.sqlite3", place)
                with closing(sqlite3.connect(f"{place}/made.sqlite3")) as database:
                    database.execute("VACUUM INTO ?", [f"{file}.making"])
            Path(f"{file}.making").rename(file)
    return file


@pytest.fixture(scope="session")
def template(made_once, pytestconfig):
    """Return the name of a migrated PostgreSQL database to copy, on the server of the tests."""
    name = pytestconfig.stash.get(_TEMPLATE, None)
    if name is None:
        pytest.skip("needs PostgreSQL: set DATABASE_URL, or TEST_DATABASE_URL for make")

    def make(file):
        drop_database(own_database_url(), name)  # A killed run may have left this database.
        create_database(own_database_url(), name)
        with tempfile.TemporaryDirectory() as folder:
            migrate(urlsplit(own_database_url())._replace(path=f"/{name}").geturl(), folder)
        file.touch()

    made_once("migrated-postgresql", make)
    return name


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb):
    """Keep the SQLite copy when the test database is created; its folder is deleted at the end."""
    return django_db_keepdb or connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings, request):
    """Create the test database as a copy of a database that is migrated once for all processes of the run."""
    test = connection.settings_dict["TEST"]
    if connection.vendor == "sqlite":
        shutil.copyfile(request.getfixturevalue("migrated"), test["NAME"])
    elif not request.getfixturevalue("django_db_keepdb"):
        test["TEMPLATE"] = request.getfixturevalue("template")
