"""Only the owner can read the files that a process creates in VAR_DIR."""

import json

from tests.processes import run_python

# Writes to the database as a service does, and prints the mode of each file while the database is open.
PROGRAM = """
import django, json, os, pathlib
os.umask(0o022)
django.setup()
from django.conf import settings
from django.db import connection
connection.cursor().execute("CREATE TABLE IF NOT EXISTS t (a)")
paths = [settings.VAR_DIR, *(path for path in settings.VAR_DIR.iterdir() if path.is_file())]
print(json.dumps({path.name: oct(path.stat().st_mode & 0o777) for path in paths}))
"""


def modes(var_dir):
    """Run a process in development; return the mode of each file in its VAR_DIR by name."""
    done = run_python({"VAR_DIR": str(var_dir), "DJANGO_SETTINGS_MODULE": "config.settings"}, "-c", PROGRAM)
    return json.loads(done.stdout)


def test_only_the_owner_can_read_the_database_and_the_secrets(tmp_path):
    result = modes(tmp_path / "var")
    assert result.pop("var") == "0o700"
    assert {"platform.sqlite3", "platform.sqlite3-wal", "development-secrets.json"} <= set(result)
    assert set(result.values()) == {"0o600"}


def test_a_database_file_readable_by_others_becomes_private(tmp_path):
    file = tmp_path / "platform.sqlite3"
    file.touch(mode=0o644)
    result = modes(tmp_path)
    assert result["platform.sqlite3"] == result["platform.sqlite3-wal"] == "0o600"


def test_existing_var_dir_mode_is_not_changed(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)
    assert modes(tmp_path / "shared")["shared"] == "0o755"
