"""Databases for real servers: one for each module that asks."""

import json
import shutil

import pytest

from tests.config.server import gunicorn, manage


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
