"""Test that the database rejects changes of the log from every client."""

import pytest
from django.db import DatabaseError, transaction

from ledger.keys import signer
from ledger.models import Block, Cosignature, Entry, Tile, database
from tests.ledger.conftest import seal_reports

pytestmark = pytest.mark.django_db(databases="__all__")


@pytest.fixture(autouse=True)
def some_blocks():
    seal_reports([f"report {number}" for number in range(300)])
    seal_reports(["another"])
    Cosignature.objects.create(block_id=2, witness=signer().verifier.vkey, timestamp=1, signature=b"s" * 64)


MODELS = [Block, Entry, Tile, Cosignature]
COLUMNS = [(model, field) for model in MODELS for field in model._meta.concrete_fields]


def assert_rejected(action):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(using=database().alias):
        action()


def run(sql, *values):
    with database().cursor() as cursor:
        cursor.execute(sql, values or None)


def test_database_rejects_changes_of_log_columns():
    of_kind = {"CharField": "x" * 27, "TextField": "x" * 27, "BinaryField": b"x" * 32}
    for model, field in COLUMNS:
        value = of_kind.get(field.get_internal_type(), 77)
        assert_rejected(
            lambda sql=f'UPDATE {model._meta.db_table} SET "{field.column}" = %s', value=value: run(sql, value)
        )


def test_database_rejects_deletion_of_log_rows():
    for model in MODELS:
        assert_rejected(lambda sql=f"DELETE FROM {model._meta.db_table}": run(sql))


def test_database_rejects_a_partial_erasure_of_a_log_entry():
    for change in (
        {"nonce": None}, {"user_id": None, "report_type": None},
        {"nonce": None, "user_id": "x", "report_type": None},
        {"nonce": None, "user_id": None, "report_type": None, "hash": b"x" * 32},
    ):  # fmt: skip
        assert_rejected(lambda change=change: Entry.objects.filter(index=3).update(**change))


def test_database_allows_only_a_complete_erasure_of_the_subject_of_a_log_entry():
    assert Entry.objects.filter(index=3).update(nonce=None, user_id=None, report_type=None) == 1
    assert_rejected(lambda: Entry.objects.filter(index=3).update(nonce=b"x" * 16, user_id="y", report_type="z"))


def test_hashes_of_a_tile_can_be_appended_but_not_changed():
    tile = Tile.objects.filter(level=0, index=1)
    old = bytes(tile.get().hashes)
    for new in (old[:-32], bytes([old[0] ^ 1]) + old[1:] + b"y", old):
        assert_rejected(lambda new=new: tile.update(hashes=new))
    assert tile.update(hashes=old + b"x" * 32) == 1


def test_sql_replace_does_not_bypass_append_only_triggers_on_sqlite():
    if database().vendor != "sqlite":
        pytest.skip("only SQLite has INSERT OR REPLACE")
    for table in (model._meta.db_table for model in MODELS):
        assert_rejected(lambda sql=f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}": run(sql))


@pytest.mark.usefixtures("needs_postgresql")
@pytest.mark.parametrize("model", MODELS)
def test_truncate_and_replica_role_do_not_bypass_append_only_triggers_on_postgresql(model):
    def as_replica():
        run("SET LOCAL session_replication_role = replica")
        run(f"DELETE FROM {model._meta.db_table}")

    assert_rejected(lambda: run(f"TRUNCATE {model._meta.db_table}"))
    assert_rejected(as_replica)
