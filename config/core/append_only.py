"""A migration operation that makes a table append-only in the database itself.

Code can be wrong and staff can have a shell; a row that tells what happened must outlive both. On PostgreSQL the
triggers are `ENABLE ALWAYS`, so that `session_replication_role` does not switch them off.
"""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class AppendOnly(migrations.RunPython):
    """Refuse every UPDATE and DELETE (and TRUNCATE, where that exists) on `table`."""

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(lambda _apps, editor: _enforce(editor, table), lambda _apps, editor: _release(editor, table))

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__qualname__, [self.table], {}

    def describe(self) -> str:
        return f"Make {self.table} append-only"


def _enforce(editor: BaseDatabaseSchemaEditor, table: str) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute(
            f"""
            CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION '{table} is append-only' USING ERRCODE = 'restrict_violation'; END $$;
            CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table}
                FOR EACH ROW EXECUTE FUNCTION {table}_append_only();
            CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
                FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only();
            ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_change;
            ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_truncate;
            """,
            params=None,
        )
        return
    for verb in ("UPDATE", "DELETE"):
        editor.execute(
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
            params=None,
        )


def _release(editor: BaseDatabaseSchemaEditor, table: str) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute(f"DROP FUNCTION {table}_append_only() CASCADE", params=None)
        return
    for verb in ("update", "delete"):
        editor.execute(f"DROP TRIGGER {table}_no_{verb}", params=None)
