"""Databases for real servers: one for each module that asks."""

import fcntl
import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.config.server import gunicorn, manage


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """A migrated SQLite file to copy: migrating takes many seconds, so one of the run's processes does it once."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    file, making = folder / "migrated.sqlite3", folder / "migrating.sqlite3"
    with (folder / "migrated.lock").open("a") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if not file.exists():
            manage(f"sqlite:///{making}", folder, "migrate", "--verbosity", "0")
            with closing(sqlite3.connect(making)) as made:
                made.execute("VACUUM INTO ?", [str(file)])
    return file


@pytest.fixture(scope="module")
def server(migrated, tmp_path_factory):
    """The address of a migrated database, and the folder that it is in."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copyfile(migrated, folder / "own.sqlite3")
    return f"sqlite:///{folder}/own.sqlite3", folder


@pytest.fixture(scope="module")
def account(server):
    """An account in it: its name and its password."""
    name, password = "ada", "correct horse battery"
    manage(*server, "create_user", name, "--password", password)
    return name, password


@pytest.fixture(scope="module")
def key(server, account):
    """An API key of the account, with its secret."""
    return json.loads(manage(*server, "create_api_key", account[0], "--name", "n", "--json"))


@pytest.fixture(scope="module")
def port(server):
    """A server in development."""
    with gunicorn(*server, REQUEST_READ_SECONDS="2") as port:
        yield port
