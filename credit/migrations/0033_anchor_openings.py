"""Store what opens the hashes of a record, apart from the record, so that it can be erased."""

from django.db import migrations

import config.core.encryption


class Migration(migrations.Migration):
    dependencies = [("credit", "0032_anchor_of_one")]

    operations = [
        migrations.AddField(
            model_name="decisionanchor",
            name="openings",
            field=config.core.encryption.EncryptedTextField(
                help_text="Value and nonce of each of the record's `hashes`, canonical JSON; null once erased.",
                null=True,
            ),
        ),
    ]
