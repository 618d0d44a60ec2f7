"""An access token is nowhere in the clear in the database's bytes, nor in a dump."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.db import connection

from identity.bank.models import BankItem
from tests.api import client_of
from tests.identity.test_bankdata_exchange import exchange


def bytes_of_the_database():
    """Return everything that a thief of the database's files or of a dump would have."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        # Read by another process: whoever closes the file in this one lets go of SQLite's locks on it, and the next
        # process to leave the database takes it for unused.
        files = sorted(str(path) for path in Path(name).parent.glob(Path(name).name + "*"))
        return subprocess.run(["cat", *files], capture_output=True, check=True).stdout
    if shutil.which("pg_dump") is None:
        pytest.skip("needs pg_dump")
    target = connection.settings_dict
    dump = subprocess.run(
        ["pg_dump", "-h", target["HOST"], "-p", str(target["PORT"] or 5432), "-U", target["USER"], name],
        env={**os.environ, "PGPASSWORD": target["PASSWORD"] or ""},
        capture_output=True,
        check=True,
    )
    return dump.stdout


def test_no_byte_of_the_database_holds_the_token(committed, user):
    api = client_of(user)
    item_id = exchange(api, user).json()["item_id"]
    token = BankItem.objects.get().access_token
    content = bytes_of_the_database()
    assert item_id.encode() in content  # what is searched is what was written
    assert token.encode() not in content
    assert token.removeprefix("access-sandbox-").encode() not in content
