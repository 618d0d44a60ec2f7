"""The language of an account's pages and mails."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("identity", "0021_bank_name")]

    operations = [
        migrations.AddField(
            "user",
            "language",
            models.CharField(
                editable=False,
                help_text="The language of the account's pages and mails. Null until the user chooses it.",
                max_length=2,
                null=True,
            ),
        ),
    ]
