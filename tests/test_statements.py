"""Test the number of SQL statements of every operation on a demo, so that lists have rows."""

import json
import os
from itertools import groupby
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from identity.access import authentication
from tests.test_examples import EXCEPTIONS
from tests.test_operations import EVERY_TABLE, OPERATIONS, call, demo, person  # noqa: F401  fixtures

# The SQL statements of each operation after the process has filled its caches. A review sees each change.
STATEMENTS_FILE = Path(__file__).with_name("statements.json")


@pytest.fixture(scope="module")
def statements():
    """Yield the recorded statement counts by operationId; `make contract` rewrites them."""
    recorded = json.loads(STATEMENTS_FILE.read_text())
    yield recorded
    if os.environ.get("UPDATE_CONTRACT"):
        counts = {name: recorded[name] for name in sorted(recorded) if name in OPERATIONS}
        STATEMENTS_FILE.write_text(json.dumps(counts, indent=1) + "\n")


@pytest.mark.parametrize("name", sorted({*OPERATIONS} - {*EXCEPTIONS} - EVERY_TABLE))
def test_each_operation_executes_its_recorded_number_of_sql_statements(demo, person, monkeypatch, statements, name):  # noqa: F811
    monkeypatch.setattr(authentication, "REMEMBERED_SECONDS", 600)
    for _ in range(2):  # The first call loads credentials, keys, and scorecards.
        before = transaction.savepoint()
        with CaptureQueriesContext(connection) as captured:
            answer = call(person, name, demo)
        transaction.savepoint_rollback(before)
        assert 200 <= answer.status_code < 300, answer.content
    queries = [query["sql"] for query in captured if "advisory" not in query["sql"]]
    queries = [sql for sql in queries if sql.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"))]
    # On some days the sandbox's bank has more transactions than SQLite stages in a single statement.
    staged = 'INSERT INTO "staging_stageditem"'
    number = len(list(groupby(queries, lambda sql: staged if sql.startswith(staged) else object())))
    # PostgreSQL reads long lists with a cursor, which is not captured.
    if os.environ.get("UPDATE_CONTRACT"):
        statements[name] = number
    recorded = statements.get(name, "no number: run `make contract`")
    is_recorded = number == recorded or (connection.vendor == "postgresql" and number < recorded)
    assert is_recorded, (number, recorded, [sql[:60] for sql in queries])
