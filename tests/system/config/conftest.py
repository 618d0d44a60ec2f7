"""Fixtures with prepared databases and running servers."""

import json
import shutil

import pytest

from tests.processes import PASSWORD, account_with_key
from tests.system.server import environment_of, gunicorn

ACCOUNT = "ada"


@pytest.fixture(scope="session")
def prepared_folder(made_once, migrated):
    """A folder to copy, with a migrated database, an account and its API key, and the secrets."""

    def make(folder):
        folder.mkdir()
        shutil.copyfile(migrated, folder / "own.sqlite3")
        _id, key, secret = account_with_key(environment_of(f"sqlite:///{folder}/own.sqlite3", folder), ACCOUNT)
        (folder / "key.json").write_text(json.dumps({"key": key, "secret": secret}))

    return made_once("prepared_folder", make)


def _copy(prepared_folder, place):
    folder = shutil.copytree(prepared_folder, place / "own")
    return f"sqlite:///{folder}/own.sqlite3", folder


@pytest.fixture(scope="module")
def server(prepared_folder, tmp_path_factory):
    """The URL of a prepared database, and its folder."""
    return _copy(prepared_folder, tmp_path_factory.mktemp("server"))


@pytest.fixture
def new_server(prepared_folder, tmp_path):
    """The URL and the folder of a prepared database that no other test uses."""
    return _copy(prepared_folder, tmp_path)


@pytest.fixture
def account():
    """The user name and the password of the account in a prepared database."""
    return ACCOUNT, PASSWORD


@pytest.fixture(scope="module")
def key(server):
    """An API key of the account, and the key's secret."""
    return json.loads((server[1] / "key.json").read_text())


@pytest.fixture(scope="module")
def port(server):
    """The port of a running server in the development profile."""
    with gunicorn(*server, REQUEST_READ_SECONDS="2") as port:
        yield port
