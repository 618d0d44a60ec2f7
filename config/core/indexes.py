"""Migration operations that add indexes, checks, and columns while PostgreSQL accepts writes.

A migration that adds an index or a check needs `atomic = False`, and can be interrupted and rerun. On SQLite, which has
only one writer, these operations behave like Django's own.
"""

from typing import Any

from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently, ValidateConstraint
from django.db import migrations
from django.db.migrations.operations.base import Operation


class AddIndexWithoutLock(AddIndexConcurrently):
    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        base: Any = super(AddIndexConcurrently, self)
        if schema_editor.connection.vendor == "postgresql":
            drop(schema_editor, self.index.name)
            base = super()
        base.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        base: Any = super() if schema_editor.connection.vendor == "postgresql" else super(AddIndexConcurrently, self)
        base.database_backwards(app_label, schema_editor, from_state, to_state)


class AddCheckWithoutLock(AddConstraintNotValid):
    """Add a check constraint, and validate the existing rows without blocking writes."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            base: Any = super(AddConstraintNotValid, self)
            base.database_forwards(app_label, schema_editor, from_state, to_state)
            return
        table = to_state.apps.get_model(app_label, self.model_name)._meta.db_table
        # An interrupted run may leave a constraint that is not validated.
        schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {self.constraint.name}", params=None)
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        validate = ValidateConstraint(self.model_name, self.constraint.name)
        validate.database_forwards(app_label, schema_editor, from_state, to_state)


class AddFields(Operation):
    """Add nullable fields without defaults, as `{model: {name: field}}`, in one short transaction.

    Separate `AddField` operations would lock the table for longer, because Django computes all models again for each of
    them.
    """

    def __init__(self, fields: dict[str, dict[str, Any]]) -> None:
        self.fields = fields

    def state_forwards(self, app_label: str, state: Any) -> None:
        for model, fields in self.fields.items():
            for name, field in fields.items():
                state.add_field(app_label, model, name, field, preserve_default=True)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for model, fields in self.fields.items():
            before, after = (state.apps.get_model(app_label, model) for state in (from_state, to_state))
            if self.allow_migrate_model(schema_editor.connection.alias, after):
                for name in fields:
                    schema_editor.add_field(before, after._meta.get_field(name))

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002
        for model, fields in self.fields.items():
            before = from_state.apps.get_model(app_label, model)
            if self.allow_migrate_model(schema_editor.connection.alias, before):
                for name in fields:
                    schema_editor.remove_field(before, before._meta.get_field(name))

    def describe(self) -> str:
        return f"Add fields to {', '.join(self.fields)}"


def drop(schema_editor: Any, name: str) -> None:
    # An interrupted run may leave an invalid index.
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", params=None)


def add_for_postgresql(name: str, definition: str) -> migrations.RunPython:
    """Return an operation that creates an index, such as `table USING gin (column)`, only on PostgreSQL."""

    def forwards(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001
        if schema_editor.connection.vendor == "postgresql":
            if schema_editor.atomic_migration:  # a new database has no users
                schema_editor.execute(f"CREATE INDEX {name} ON {definition}", params=None)
            else:
                drop(schema_editor, name)
                schema_editor.execute(f"CREATE INDEX CONCURRENTLY {name} ON {definition}", params=None)

    def backwards(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001
        if schema_editor.connection.vendor == "postgresql":
            drop(schema_editor, name)

    return migrations.RunPython(forwards, backwards)
