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

GRANTS = """
    SELECT app_label, model, codename, auth_permission.name, auth_group.name FROM auth_permission
    JOIN django_content_type ON django_content_type.id = content_type_id
    LEFT JOIN auth_group_permissions ON permission_id = auth_permission.id
    LEFT JOIN auth_group ON auth_group.id = group_id"""
MIGRATIONS = "SELECT app, name FROM django_migrations"


def migrate_one_by_one(address, folder):
    """Run all migrations: `migrate` creates the tables directly only in a database without tables."""
    settings = {"DATABASE_URL": address, "VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    manage(settings, "migrate", "contenttypes")
    assert manage(settings, "migrate").strip() != "No migrations to apply."


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


def test_a_new_sqlite_database_equals_a_migrated_database(migrated, tmp_path):
    results = []
    migrate_one_by_one(f"sqlite:///{tmp_path}/one_by_one.sqlite3", tmp_path)
    for file in (migrated, tmp_path / "one_by_one.sqlite3"):
        with closing(sqlite3.connect(file)) as database:
            schema = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
            tables = [name for kind, name, _sql in schema if kind == "table" and name != "sqlite_sequence"]
            results.append(([(*row, definition(sql)) for *row, sql in schema], rows_of(database, tables)))
    assert len(results[0][0]) > 100
    assert results[0] == results[1]


@pytest.mark.skipif(bool(clusters.missing()), reason=clusters.missing())
def test_a_new_postgresql_database_equals_a_migrated_database(migrated_cluster, tmp_path):
    results = []
    with cluster(data=migrated_cluster) as server:
        create_database(server.address(role="postgres"), "one_by_one")
        migrate_one_by_one(server.address("one_by_one", "postgres"), tmp_path)
        for name in ("platform", "one_by_one"):
            address = server.address(name, "postgres")
            command = [f"{clusters.folder_of('pg_dump')}/pg_dump", "--schema-only", "--no-owner", address]
            sql = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            with psycopg.connect(address) as database:
                rows = rows_of(database, re.findall(r"(?m)^CREATE TABLE public\.(\w+)", sql))
            # Remove a random word of newer minor versions, and names that are generated for `unique=True`.
            sql = re.sub(r"(?m)^\\(un)?restrict .*\n", "", sql)
            sql = re.sub(r"(accesstoken_token_checksum)_(key|\w{8}_uniq)\b", r"\1", sql)
            results.append((sql.splitlines(), rows))
    assert len(results[0][0]) > 1_000
    assert results[0] == results[1]
