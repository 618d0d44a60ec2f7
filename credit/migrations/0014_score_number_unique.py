"""Let a version score an application once per number, not once.

It can be interrupted at any point, and run again: PostgreSQL makes the index outside of a transaction.
"""

from importlib import import_module
from typing import Any

from django.db import migrations, models, transaction

KeepAppendOnly = import_module("credit.migrations.0013_score_number").KeepAppendOnly

TABLE, BEFORE, AFTER = "credit_score", "credit_score_once", "credit_score_once_a_number"


class ReplaceUnique(migrations.SeparateDatabaseAndState):
    """Submissions go on while PostgreSQL makes the index. SQLite copies the table in one transaction."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        alias = schema_editor.connection.alias
        if schema_editor.connection.vendor != "postgresql":
            with transaction.atomic(using=alias):
                super().database_forwards(app_label, schema_editor, from_state, to_state)
        elif self.allow_migrate_model(alias, to_state.apps.get_model(app_label, "score")):
            self._replace(schema_editor)

    def _replace(self, schema_editor: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass(%s) AND conname = %s", [TABLE, AFTER]
            )
            if cursor.fetchone() is None:
                # What an interrupted run leaves behind is perhaps not valid.
                schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {AFTER}", params=None)
                columns = "application_id, version_id, number"
                schema_editor.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {AFTER} ON {TABLE} ({columns})", params=None)
                schema_editor.execute(
                    f"ALTER TABLE {TABLE} ADD CONSTRAINT {AFTER} UNIQUE USING INDEX {AFTER}", params=None
                )
        schema_editor.execute(f"ALTER TABLE {TABLE} DROP CONSTRAINT IF EXISTS {BEFORE}", params=None)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        with transaction.atomic(using=schema_editor.connection.alias):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


_OPERATIONS = [
    KeepAppendOnly(TABLE),
    migrations.AddConstraint(
        model_name="score",
        constraint=models.UniqueConstraint(fields=("application", "version", "number"), name=AFTER),
    ),
    migrations.RemoveConstraint(model_name="score", name=BEFORE),
    KeepAppendOnly(TABLE),
]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("credit", "0013_score_number")]

    operations = [ReplaceUnique(database_operations=_OPERATIONS, state_operations=_OPERATIONS)]
