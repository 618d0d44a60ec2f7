from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class AddIndexWithoutLock(AddIndexConcurrently):
    """Payments go on while PostgreSQL makes the index; SQLite has one writer anyway."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        base = super() if schema_editor.connection.vendor == "postgresql" else super(AddIndexConcurrently, self)
        base.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        base = super() if schema_editor.connection.vendor == "postgresql" else super(AddIndexConcurrently, self)
        base.database_backwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0002_refunds_and_disputes")]

    operations = [
        AddIndexWithoutLock(
            model_name="payment",
            index=models.Index(fields=["transaction_id"], name="payments_payment_transaction"),
        ),
    ]
