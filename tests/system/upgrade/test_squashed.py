"""A new database and one that came from 1.0.0 have the same tables, indexes, constraints, and triggers."""

import re
import sqlite3
import subprocess
from contextlib import closing

import pytest

from tests import clusters
from tests.bench.faults.cluster import cluster
from tests.processes import create_database, run_python

WAYS = ("--squashed", "--replaced")


def migrate(address, folder, way):
    settings = {"DATABASE_URL": address, "VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = run_python(settings, "-m", "tests.system.upgrade.squashed", way)
    assert done.returncode == 0, done.stderr


def test_squashed_migrations_make_the_same_schema_on_sqlite(tmp_path):
    schemas = []
    for way in WAYS:
        file = tmp_path / f"{way}.sqlite3"
        migrate(f"sqlite:///{file}", tmp_path, way)
        with closing(sqlite3.connect(file)) as database:
            rows = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
            schemas.append(rows.fetchall())
    assert len(schemas[0]) > 100
    assert schemas[0] == schemas[1]


@pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())
def test_squashed_migrations_make_the_same_schema_on_postgresql(tmp_path):
    schemas = []
    with cluster(fsync="off") as server:
        for way in WAYS:
            name = way.strip("-")
            create_database(server.address(role="postgres"), name)
            migrate(server.address(name, "postgres"), tmp_path, way)
            command = [f"{clusters.folder_of('pg_dump')}/pg_dump", "--schema-only", server.address(name, "postgres")]
            sql = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            # A random word of newer minor versions.
            schemas.append(re.sub(r"(?m)^\\(un)?restrict .*\n", "", sql).splitlines())
    assert len(schemas[0]) > 1_000
    assert schemas[0] == schemas[1]
