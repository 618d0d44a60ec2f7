"""Access tokens of bank items are encrypted in the database."""

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
    """Return the content of the database's files, or of a PostgreSQL dump."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        # A separate process reads the files. If this process closed such a file, it would release its SQLite locks, and
        # another process could regard the database as unused.
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


def test_database_files_do_not_contain_a_bank_access_token(committed, user):
    api = client_of(user)
    item_id = exchange(api, user).json()["item_id"]
    token = BankItem.objects.get().access_token
    content = bytes_of_the_database()
    assert item_id.encode() in content  # shows that the content includes the new row
    assert token.encode() not in content
    assert token.removeprefix("access-sandbox-").encode() not in content
