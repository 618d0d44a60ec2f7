"""Migration operations that make a table append-only, or some of its columns, in the database itself.

Code can be wrong and staff can have a shell; a row that tells what happened must outlive both. On PostgreSQL the
triggers are `ENABLE ALWAYS`, so that `session_replication_role` does not switch them off.
"""

from collections.abc import Sequence
from typing import Any

from django.db import router
from django.db.migrations.operations.base import Operation


class AppendOnly(Operation):
    """Refuse every UPDATE and DELETE (and TRUNCATE, where that exists) on `table`, which must exist by then."""

    rule = "is append-only"
    columns: Sequence[str] = ()  # an UPDATE is refused when one of these gets another value; without any, always

    def __init__(self, table: str) -> None:
        self.table = table

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Models stay as they are."""

    def database_forwards(self, app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        if not router.allow_migrate(schema_editor.connection.alias, app_label):
            return  # the table is in the other database
        table, is_postgresql = self.table, schema_editor.connection.vendor == "postgresql"
        differs = "IS DISTINCT FROM" if is_postgresql else "IS NOT"
        changes = self.changes(differs)
        condition = f"WHEN ({changes})" if changes else ""
        if is_postgresql:
            schema_editor.execute(
                f"""
                CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION '{table} {self.rule}' USING ERRCODE = 'restrict_violation'; END $$;
                CREATE TRIGGER {table}_no_change BEFORE UPDATE ON {table}
                    FOR EACH ROW {condition} EXECUTE FUNCTION {table}_refuse();
                CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
                    FOR EACH ROW EXECUTE FUNCTION {table}_refuse();
                CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
                    FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse();
                ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_change;
                ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_delete;
                ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_truncate;
                """,
                params=None,
            )
            return
        for verb, when in (("UPDATE", condition), ("DELETE", "")):
            schema_editor.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {when} "
                f"BEGIN SELECT RAISE(ABORT, '{table} {self.rule}'); END",
                params=None,
            )

    def changes(self, differs: str) -> str:
        """Return the condition under which an UPDATE is refused, empty for always."""
        return " OR ".join(f"OLD.{name} {differs} NEW.{name}" for name in self.columns)

    def database_backwards(self, app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        if not router.allow_migrate(schema_editor.connection.alias, app_label):
            return
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP FUNCTION {self.table}_refuse() CASCADE", params=None)
            return
        for verb in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {self.table}_no_{verb}", params=None)


class NeverChanges(AppendOnly):
    """Refuse every UPDATE of `columns` to other values, and every DELETE, on `table`, which must exist by then."""

    rule = "never changes"

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        super().__init__(table)
        self.columns = columns


class KeepsLast(NeverChanges):
    """Refuse every UPDATE of `column` once it has the value `last`, and every DELETE, on `table`."""

    rule = "keeps its last value"

    def __init__(self, table: str, column: str, last: str) -> None:
        super().__init__(table, [column])
        self.last = last

    def changes(self, differs: str) -> str:
        return f"OLD.{self.columns[0]} = '{self.last}' AND {super().changes(differs)}"
