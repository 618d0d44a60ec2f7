"""Databases that a run makes once and copies, because migrating one takes many seconds; fixtures of every test."""

import fcntl
import json
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection

from tests.bench.faults.cluster import cluster
from tests.config.server import own_database_url
from tests.processes import create_database, drop_database, manage

_TEMPLATE = pytest.StashKey[str]()


def configure(config, database):
    """Say where the test database is made, given Django's entry of the real one."""
    if "sqlite" in database["ENGINE"]:
        # A file, as in real life: connections to a database in memory share a cache and lock each other out.
        folder = tempfile.mkdtemp(prefix="credit-platform-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        database.setdefault("TEST", {})["NAME"] = f"{folder}/platform.sqlite3"
        return
    template = config.stash[_TEMPLATE] = f"test_{database['NAME']}_template"
    if not hasattr(config, "workerinput"):  # the process that ends last

        def drop():
            with suppress(psycopg.OperationalError):  # a server that nobody reached has none
                drop_database(own_database_url(), template)

        config.add_cleanup(drop)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Return what a function makes at a path: the first of the run's processes to ask for it has it made."""
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


def _migrate(address, folder):
    manage({"PATH": os.environ["PATH"], "VAR_DIR": str(folder), "DATABASE_URL": address}, "migrate", "--verbosity", "0")


@pytest.fixture(scope="session")
def migrated(made_once):
    """A migrated SQLite file to copy."""

    def make(file):
        with tempfile.TemporaryDirectory() as folder:
            _migrate(f"sqlite:///{folder}/made.sqlite3", folder)
            with closing(sqlite3.connect(f"{folder}/made.sqlite3")) as made:
                made.execute("VACUUM INTO ?", [str(file)])

    return made_once("migrated.sqlite3", make)


@pytest.fixture(scope="session")
def template(made_once, pytestconfig):
    """The name of a migrated PostgreSQL database to copy, on the server of the tests."""
    name = pytestconfig.stash.get(_TEMPLATE, None)
    if name is None:
        pytest.skip("needs PostgreSQL: set TEST_DATABASE_URL")

    def make(file):
        drop_database(own_database_url(), name)  # left by a run that was killed
        create_database(own_database_url(), name)
        with tempfile.TemporaryDirectory() as folder:
            _migrate(urlsplit(own_database_url())._replace(path=f"/{name}").geturl(), folder)
        file.touch()

    made_once("migrated-postgresql", make)
    return name


class Inhabited:
    """A PostgreSQL cluster with the platform's tables and an account, to copy: its data, and its secrets' folder."""

    def __init__(self, place):
        self.data, self._secrets = place / "data", place / "var"
        self.account = json.loads((place / "account.json").read_text())

    def secrets(self, folder):
        """Copy the folder of its secrets; return where it is then."""
        return shutil.copytree(self._secrets, Path(folder) / "var")


@pytest.fixture(scope="session")
def inhabited(made_once):
    """A cluster to copy, whose database `platform` belongs to the role of that name."""

    def make(place):
        place.mkdir()
        var = place / "var"
        with cluster() as server:
            _migrate(server.address(), var)
            env = {"PATH": os.environ["PATH"], "VAR_DIR": str(var), "DATABASE_URL": server.address()}
            made = json.loads(manage(env, "create_user", "ada", "--password", "correct horse battery", "--json"))
            key = json.loads(manage(env, "create_api_key", "ada", "--name", "n", "--json"))["key"]
            (place / "account.json").write_text(json.dumps([made["id"], key]))
            server.stop("fast")
            shutil.copytree(server.folder, place / "data")

    return Inhabited(made_once("cluster", make))


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb):
    """Keep SQLite's copy when the test database is made; its folder goes at the end."""
    return django_db_keepdb or connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings, request):
    """Let the test database be a copy of one that is migrated once for all processes of the run."""
    test = connection.settings_dict["TEST"]
    if connection.vendor == "sqlite":
        shutil.copyfile(request.getfixturevalue("migrated"), test["NAME"])
    elif not request.getfixturevalue("django_db_keepdb"):
        test["TEMPLATE"] = request.getfixturevalue("template")
