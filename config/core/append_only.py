"""Migration operations that add triggers to a table, which then rejects changes of its rows or of some columns.

Database triggers also stop faulty code and staff with a shell. On PostgreSQL, the triggers are `ENABLE ALWAYS`, so that
`session_replication_role` does not disable them.

`AllowErasure` permits an erasure to blank the personal columns of a row after its retention ends.
"""

from collections.abc import Sequence
from typing import Any

from django.db import router
from django.db.migrations.operations.base import Operation


def _differs(connection: Any) -> str:
    """Return the SQL operator for inequality that treats two NULLs as equal."""
    return "IS DISTINCT FROM" if connection.vendor == "postgresql" else "IS NOT"


def _sqlite_trigger(table: str, verb: str, condition: str, rule: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {condition} "
        f"BEGIN SELECT RAISE(ABORT, '{table} {rule}'); END"
    )


class AppendOnly(Operation):
    """Reject every UPDATE, DELETE, and (on PostgreSQL) TRUNCATE of an existing `table`."""

    rule = "is append-only"
    columns: Sequence[str] = ()  # the columns that an UPDATE must not change; all columns if empty

    def __init__(self, table: str) -> None:
        self.table = table

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the models unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        if not router.allow_migrate(schema_editor.connection.alias, app_label):
            return  # this operation belongs to another database
        table, is_postgresql = self.table, schema_editor.connection.vendor == "postgresql"
        changes = self.changes(_differs(schema_editor.connection))
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
            schema_editor.execute(_sqlite_trigger(table, verb, when, self.rule), params=None)

    def changes(self, differs: str) -> str:
        """Return the SQL condition under which an UPDATE is rejected. An empty string rejects every UPDATE."""
        return " OR ".join(f"OLD.{name} {differs} NEW.{name}" for name in self.columns)

    def database_backwards(self, app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        if not router.allow_migrate(schema_editor.connection.alias, app_label):
            return
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP FUNCTION {self.table}_refuse() CASCADE", params=None)
            return
        for verb in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {self.table}_no_{verb}", params=None)


class KeepTriggers(Operation):
    """Restore the triggers of `rule`. On SQLite, Django changes a table by copying it, which drops the triggers.

    Place one `KeepTriggers` after the operations that copy the table. For the reverse migration, place another before
    these operations.
    """

    def __init__(self, rule: AppendOnly) -> None:
        self.rule = rule

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the models unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            return
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [self.rule.table])
            if cursor.fetchone():
                return
        self.rule.database_forwards(app_label, schema_editor, from_state, to_state)

    database_backwards = database_forwards


class NeverChanges(AppendOnly):
    """Reject every DELETE on an existing `table`, and every UPDATE that changes one of `columns`."""

    rule = "never changes"

    def __init__(self, table: str, columns: Sequence[str]) -> None:
        super().__init__(table)
        self.columns = columns


class KeepsLast(NeverChanges):
    """Reject every DELETE on `table`, and every UPDATE of `column` after it has the final value `last`."""

    rule = "keeps its last value"

    def __init__(self, table: str, column: str, last: str) -> None:
        super().__init__(table, [column])
        self.last = last

    def changes(self, differs: str) -> str:
        return f"OLD.{self.columns[0]} = '{self.last}' AND {super().changes(differs)}"


class AllowErasure(Operation):
    """Permit one UPDATE of an append-only row that blanks all personal `columns` and changes nothing else.

    For a table with `NeverChanges`, set `never_change` to its protected columns. Other columns remain changeable.
    """

    _BLANK = """('', '{}', '[]', '""', 'false', '0', '0.0000')"""

    def __init__(self, table: str, columns: Sequence[str], *, never_change: Sequence[str] = ()) -> None:
        self.table, self.columns, self.never_change = table, columns, never_change

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Leave the models unchanged."""

    def database_forwards(self, app_label: str, schema_editor: Any, _from_state: Any, to_state: Any) -> None:
        connection = schema_editor.connection
        if not router.allow_migrate(connection.alias, app_label):
            return
        model = next(model for model in to_state.apps.get_models() if model._meta.db_table == self.table)
        stored = sorted(field.column for field in model._meta.local_concrete_fields)
        differs = _differs(connection)
        guarded = [name for name in self.never_change or stored if name not in self.columns]
        refused = [f"OLD.{name} {differs} NEW.{name}" for name in guarded]
        is_filled = " OR ".join(f"coalesce(CAST(NEW.{name} AS text), '') NOT IN {self._BLANK}" for name in self.columns)
        is_changed = " OR ".join(f"OLD.{name} {differs} NEW.{name}" for name in self.columns)
        if self.never_change:
            refused.append(f"(({is_changed}) AND ({is_filled}))")
        else:
            refused += [is_filled, f"NOT ({is_changed})"]
        self._guard(schema_editor, f"WHEN ({' OR '.join(refused)})")

    def database_backwards(self, app_label: str, schema_editor: Any, _from_state: Any, _to_state: Any) -> None:
        connection = schema_editor.connection
        if not router.allow_migrate(connection.alias, app_label):
            return
        changes = NeverChanges(self.table, self.never_change).changes(_differs(connection))
        self._guard(schema_editor, f"WHEN ({changes})" if changes else "")

    def _guard(self, schema_editor: Any, condition: str) -> None:
        table = self.table
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(
                f"""
                CREATE OR REPLACE TRIGGER {table}_no_change BEFORE UPDATE ON {table}
                    FOR EACH ROW {condition} EXECUTE FUNCTION {table}_refuse();
                ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_change;
                """,
                params=None,
            )
            return
        rule = NeverChanges.rule if self.never_change else AppendOnly.rule
        schema_editor.execute(f"DROP TRIGGER {table}_no_update", params=None)
        schema_editor.execute(_sqlite_trigger(table, "UPDATE", condition, rule), params=None)
