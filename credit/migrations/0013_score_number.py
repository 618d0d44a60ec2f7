"""Number the scores of an application: a reviewer can score it again. A server of the version before makes number 1."""

from typing import Any

from django.db import migrations, models
from django.db.migrations.operations.base import Operation

from config.core.append_only import AppendOnly


class KeepAppendOnly(Operation):
    """Make a table append-only again: SQLite copies a table to change its constraints, and loses its triggers.

    It stands before the operations that copy the table, for the way back, and after them.
    """

    def __init__(self, table: str) -> None:
        self.table = table

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Models stay as they are."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            return
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [self.table])
            if cursor.fetchone():
                return
        AppendOnly(self.table).database_forwards(app_label, schema_editor, from_state, to_state)

    database_backwards = database_forwards


class Migration(migrations.Migration):
    dependencies = [("credit", "0012_confirmations")]

    operations = [
        KeepAppendOnly("credit_score"),
        migrations.AddField(
            model_name="score",
            name="number",
            field=models.PositiveSmallIntegerField(db_default=1, default=1),
        ),
        KeepAppendOnly("credit_score"),
    ]
