"""Widen the kind of a notice for `withdrawal_reminder`.

PostgreSQL widens a varchar without a rewrite. SQLite copies the table, which the linter takes for new NOT NULL columns.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("credit", "0019_contract_withdrawal")]

    operations = [
        migrations.AlterField(
            model_name="notice",
            name="kind",
            field=models.CharField(
                choices=[
                    ("adverse_action", "adverse_action"),
                    ("approval", "approval"),
                    ("counteroffer", "counteroffer"),
                    ("incomplete", "incomplete"),
                    ("pricing", "pricing"),
                    ("withdrawal_reminder", "withdrawal_reminder"),
                ],
                max_length=24,
            ),
        ),
    ]
