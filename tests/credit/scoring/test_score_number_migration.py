"""Test that the migration that numbers scores can be interrupted at any statement and repeated."""

from itertools import count

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from config.core.append_only import AllowErasure

NAME = "0014_score_number_unique"


class Interrupted(Exception):
    pass


def interrupt_after(statements, editor, monkeypatch):
    """Make a schema editor execute some statements, and raise at the next statement."""
    execute, left = editor.execute, iter(range(statements))

    def counted(sql, params=()):
        if next(left, None) is None:
            raise Interrupted
        return execute(sql, params)

    monkeypatch.setattr(editor, "execute", counted)


def constraints_of_scores():
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, "credit_score")
    return {name for name in constraints if name.startswith("credit_score_once")}


def is_append_only():
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'credit_score_no_%'")
            return cursor.fetchone()[0] == 3
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'credit_score'")
        return cursor.fetchone()[0] == 2


def allow_erasure(loader):
    """Create the triggers of a later migration again, for the next tests on this database."""
    erasable = loader.get_migration("credit", "0026_erasable_history")
    state = loader.project_state(("credit", "0026_erasable_history"))
    with connection.schema_editor() as editor:
        for operation in erasable.operations:
            if isinstance(operation, AllowErasure) and operation.table == "credit_score":
                operation.database_forwards("credit", editor, state, state)


def test_interrupted_migration_of_score_numbers_can_be_repeated(committed, monkeypatch):
    loader = MigrationExecutor(connection).loader
    before, migration = loader.project_state(("credit", "0013_score_number")), loader.get_migration("credit", NAME)
    with connection.schema_editor(atomic=False) as editor:
        migration.unapply(before.clone(), editor)
    assert constraints_of_scores() == {"credit_score_once"}
    interruptions = 0
    try:
        for statements in count():
            try:
                with connection.schema_editor(atomic=False) as editor:
                    interrupt_after(statements, editor, monkeypatch)
                    migration.apply(before.clone(), editor)
                break
            except Interrupted:
                interruptions += 1
                assert is_append_only()
                assert constraints_of_scores() & {"credit_score_once", "credit_score_once_a_number"}
    finally:
        if "credit_score_once_a_number" not in constraints_of_scores():
            with connection.schema_editor(atomic=False) as editor:
                migration.apply(before.clone(), editor)
        allow_erasure(loader)
    assert interruptions > 3
    assert constraints_of_scores() == {"credit_score_once_a_number"}
    assert is_append_only()
