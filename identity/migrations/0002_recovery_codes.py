import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import config.core.ids


class Migration(migrations.Migration):

    dependencies = [
        ("identity", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.core.ids.uuid7, editable=False, primary_key=True, serialize=False),
                ),
                ("hash", models.CharField(help_text="As `RecoveryCodeHasher` encodes it.", max_length=255)),
                ("created_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recovery_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "hash"), name="identity_recovery_code")],
            },
        ),
    ]
