"""Concurrent runs of `migrate` on an empty database succeed, on SQLite and PostgreSQL."""

import os
import subprocess
import sys
import uuid

import pytest
from django.core.management import call_command
from django.db import connection

from config.core.databases import advisory_lock
from tests.databases import own_database_url
from tests.processes import ROOT, temporary_database


def migrate_concurrently(database_url, var_dir):
    """Run `migrate` twice concurrently; return the exit statuses and the outputs."""
    env = {"PATH": os.environ["PATH"], "VAR_DIR": str(var_dir), "DATABASE_URL": database_url}
    running = [
        subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "-v1"], cwd=ROOT, env=env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    printed = [process.communicate(timeout=800) for process in running]
    return [process.returncode for process in running], printed


def assert_created_once(statuses, printed):
    assert statuses == [0, 0], printed
    worked = ["Created the tables" in output for output, _errors in printed]
    assert sorted(worked) == [False, True]


@pytest.mark.timeout(900)
def test_concurrent_migrate_commands_succeed_on_sqlite(tmp_path):
    assert_created_once(*migrate_concurrently(f"sqlite:///{tmp_path}/new.sqlite3", tmp_path))


@pytest.mark.timeout(900)
def test_concurrent_migrate_commands_succeed_on_postgresql(tmp_path, committed):
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: set DATABASE_URL, or TEST_DATABASE_URL for make")
    with temporary_database(own_database_url(), f"migrate_{uuid.uuid4().hex[:12]}") as address:
        assert_created_once(*migrate_concurrently(address, tmp_path))


@pytest.mark.django_db(transaction=True)
def test_migrate_succeeds_after_the_release_of_its_lock():
    for _ in range(2):
        with advisory_lock("default", purpose="migrate"):
            pass
    call_command("migrate", verbosity=0)
