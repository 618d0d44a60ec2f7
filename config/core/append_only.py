"""Migration operations that make a table append-only, or some of its columns, in the database itself.

Code can be wrong and staff can have a shell; a row that tells what happened must outlive both. On PostgreSQL the
triggers are `ENABLE ALWAYS`, so that `session_replication_role` does not switch them off.
"""

from collections.abc import Sequence
from typing import Any

from django.db.migrations.operations.base import Operation


class AppendOnly(Operation):
    """Refuse every UPDATE and DELETE (and TRUNCATE, where that exists) on `table`, which must exist by then."""

    def __init__(self, table: str) -> None:
        self.table = table

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Models stay as they are."""

    def database_forwards(self, _app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        table = self.table
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(
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
            schema_editor.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
                params=None,
            )

    def database_backwards(self, _app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP FUNCTION {self.table}_append_only() CASCADE", params=None)
            return
        for verb in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {self.table}_no_{verb}", params=None)


class NeverChanges(Operation):
    """Refuse every UPDATE of `columns` to other values, and every DELETE, on `table`, which must exist by then."""

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        self.table, self.columns = table, columns

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Models stay as they are."""

    def database_forwards(self, _app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        table = self.table
        if schema_editor.connection.vendor == "postgresql":
            changes = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in self.columns)
            schema_editor.execute(
                f"""
                CREATE FUNCTION {table}_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION '{table} never changes' USING ERRCODE = 'restrict_violation'; END $$;
                CREATE TRIGGER {table}_no_change BEFORE UPDATE ON {table}
                    FOR EACH ROW WHEN ({changes}) EXECUTE FUNCTION {table}_never_changes();
                CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
                    FOR EACH ROW EXECUTE FUNCTION {table}_never_changes();
                CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
                    FOR EACH STATEMENT EXECUTE FUNCTION {table}_never_changes();
                ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_change;
                ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_delete;
                ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_truncate;
                """,
                params=None,
            )
            return
        changes = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in self.columns)
        for verb, condition in (("UPDATE", f"WHEN {changes} "), ("DELETE", "")):
            schema_editor.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {condition}"
                f"BEGIN SELECT RAISE(ABORT, '{table} never changes'); END",
                params=None,
            )

    def database_backwards(self, _app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP FUNCTION {self.table}_never_changes() CASCADE", params=None)
            return
        for verb in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {self.table}_no_{verb}", params=None)
