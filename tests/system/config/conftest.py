"""Databases for real servers."""

import json
import shutil

import pytest

from tests.processes import PASSWORD, account_with_key
from tests.system.server import environment_of, gunicorn

ACCOUNT = "ada"


@pytest.fixture(scope="session")
def furnished(made_once, migrated):
    """A folder to copy: a migrated database with an account and its key, and the secrets that decrypt them."""

    def make(folder):
        folder.mkdir()
        shutil.copyfile(migrated, folder / "own.sqlite3")
        _id, key, secret = account_with_key(environment_of(f"sqlite:///{folder}/own.sqlite3", folder), ACCOUNT)
        (folder / "key.json").write_text(json.dumps({"key": key, "secret": secret}))

    return made_once("furnished", make)


def _copy(furnished, place):
    folder = shutil.copytree(furnished, place / "own")
    return f"sqlite:///{folder}/own.sqlite3", folder


@pytest.fixture(scope="module")
def server(furnished, tmp_path_factory):
    """The address of a prepared database, and its folder."""
    return _copy(furnished, tmp_path_factory.mktemp("server"))


@pytest.fixture
def new_server(furnished, tmp_path):
    """A prepared database in a folder that no server has used."""
    return _copy(furnished, tmp_path)


@pytest.fixture
def account():
    """The user name and password of its account."""
    return ACCOUNT, PASSWORD


@pytest.fixture(scope="module")
def key(server):
    """An API key of the account, with its secret."""
    return json.loads((server[1] / "key.json").read_text())


@pytest.fixture(scope="module")
def port(server):
    """The port of a server in development."""
    with gunicorn(*server, REQUEST_READ_SECONDS="2") as port:
        yield port
