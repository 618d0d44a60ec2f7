from django.db import models
from django.db.migrations.loader import MigrationLoader

from config.ops.management.commands.makemigrations import Autodetector


def operations_for(**options):
    """Return the operations of the migration for a column of claims that has these options."""
    loader = MigrationLoader(None)
    before, after = loader.project_state(), loader.project_state()
    for state, given in ((before, {"max_length": 9, "help_text": "Before."}), (after, {"max_length": 9} | options)):
        state.models["claims", "claim"].fields["name"] = models.CharField(**given)
    found = Autodetector(before, after).changes(graph=loader.graph)
    return [operation for migrations in found.values() for one in migrations for operation in one.operations]


def test_a_new_help_text_needs_no_migration():
    assert operations_for(help_text="After.") == []


def test_a_longer_column_needs_a_migration_without_help_text():
    (operation,) = operations_for(max_length=10, help_text="After.")
    assert (operation.name, operation.field.max_length, operation.field.help_text) == ("name", 10, "")
