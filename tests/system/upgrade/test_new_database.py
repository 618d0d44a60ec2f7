"""`migrate` creates all tables of an empty database directly. They equal the tables after all migrations."""

import re
import sqlite3
import subprocess
from contextlib import closing

import psycopg
import pytest

from tests import clusters
from tests.bench.faults.cluster import cluster
from tests.processes import create_database, manage

# If the command names an app, Django runs its migrations. The tables of contenttypes then exist, so that `migrate` runs
# all other migrations one by one.
WAYS = {"at_once": [["migrate"]], "one_by_one": [["migrate", "contenttypes"], ["migrate"]]}
GRANTS = """
    SELECT app_label, model, codename, auth_permission.name, auth_group.name FROM auth_permission
    JOIN django_content_type ON django_content_type.id = content_type_id
    LEFT JOIN auth_group_permissions ON permission_id = auth_permission.id
    LEFT JOIN auth_group ON auth_group.id = group_id"""
MIGRATIONS = "SELECT app, name FROM django_migrations"


def migrate(address, folder, way):
    settings = {"DATABASE_URL": address, "VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    last_lines = [manage(settings, *arguments).strip() for arguments in WAYS[way]]
    assert (last_lines[-1] == "No migrations to apply.") == (way == "at_once")


def rows_of(database, tables):
    """Return the row count of each table, the permissions with their groups, and the applied migrations."""
    parts = [f"SELECT '{table}', count(*) FROM \"{table}\"" for table in tables]
    counts = [row for part in parts for row in database.execute(part).fetchall()]
    return sorted(counts), *(sorted(database.execute(text).fetchall(), key=repr) for text in (GRANTS, MIGRATIONS))


def definition(sql):
    """Return a statement; for a table, its sorted columns and constraints: SQLite moves changed columns to the end."""
    if not sql or not sql.startswith("CREATE TABLE"):
        return sql
    return sorted(re.split(r", (?=\"|CONSTRAINT)", sql.partition(" (")[2].removesuffix(")")))


def test_a_new_sqlite_database_equals_a_migrated_database(tmp_path):
    results = []
    for way in WAYS:
        file = tmp_path / f"{way}.sqlite3"
        migrate(f"sqlite:///{file}", tmp_path, way)
        with closing(sqlite3.connect(file)) as database:
            schema = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
            tables = [name for kind, name, _sql in schema if kind == "table" and name != "sqlite_sequence"]
            results.append(([(*row, definition(sql)) for *row, sql in schema], rows_of(database, tables)))
    assert len(results[0][0]) > 100
    assert results[0] == results[1]


@pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())
def test_a_new_postgresql_database_equals_a_migrated_database(tmp_path):
    results = []
    with cluster(fsync="off") as server:
        for way in WAYS:
            create_database(server.address(role="postgres"), way)
            address = server.address(way, "postgres")
            migrate(address, tmp_path, way)
            command = [f"{clusters.folder_of('pg_dump')}/pg_dump", "--schema-only", address]
            sql = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            with psycopg.connect(address) as database:
                rows = rows_of(database, re.findall(r"(?m)^CREATE TABLE public\.(\w+)", sql))
            # Remove a random word of newer minor versions, and names that are generated for `unique=True`.
            sql = re.sub(r"(?m)^\\(un)?restrict .*\n", "", sql)
            sql = re.sub(r"(accesstoken_token_checksum)_(key|\w{8}_uniq)\b", r"\1", sql)
            results.append((sql.splitlines(), rows))
    assert len(results[0][0]) > 1_000
    assert results[0] == results[1]
