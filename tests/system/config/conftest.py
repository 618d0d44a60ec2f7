"""Databases for real servers."""

import json
import shutil

import pytest

from tests.system.server import gunicorn, manage

ACCOUNT = ("ada", "correct horse battery")


@pytest.fixture(scope="session")
def furnished(made_once, migrated):
    """A folder to copy: a migrated database with an account and its key, and the secrets that open them."""

    def make(folder):
        folder.mkdir()
        own = (f"sqlite:///{folder}/own.sqlite3", folder)
        shutil.copyfile(migrated, folder / "own.sqlite3")
        manage(*own, "create_user", ACCOUNT[0], "--password", ACCOUNT[1])
        (folder / "key.json").write_text(manage(*own, "create_api_key", ACCOUNT[0], "--name", "n", "--json"))

    return made_once("furnished", make)


def _copy(furnished, place):
    folder = shutil.copytree(furnished, place / "own")
    return f"sqlite:///{folder}/own.sqlite3", folder


@pytest.fixture(scope="module")
def server(furnished, tmp_path_factory):
    """The address of a furnished database, and the folder that it is in."""
    return _copy(furnished, tmp_path_factory.mktemp("server"))


@pytest.fixture
def new_server(furnished, tmp_path):
    """Such a database in a folder that no server has used."""
    return _copy(furnished, tmp_path)


@pytest.fixture
def account():
    """The account in it: its name and its password."""
    return ACCOUNT


@pytest.fixture(scope="module")
def key(server):
    """An API key of the account, with its secret."""
    return json.loads((server[1] / "key.json").read_text())


@pytest.fixture(scope="module")
def port(server):
    """A server in development."""
    with gunicorn(*server, REQUEST_READ_SECONDS="2") as port:
        yield port
