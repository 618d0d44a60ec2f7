"""Let the database itself refuse changes to the log."""

from django.db import migrations

from ledger.triggers import create_statements, drop_statements


def create(apps, schema_editor):
    for statement in create_statements(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def drop(apps, schema_editor):
    for statement in drop_statements(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
