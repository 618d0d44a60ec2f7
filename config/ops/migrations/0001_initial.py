import uuid_utils.compat
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="RequestLine",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "account_id",
                    models.BigIntegerField(help_text="Who called; of a partner that acts for somebody, the partner."),
                ),
                ("credential", models.CharField(max_length=80)),
                ("method", models.CharField(max_length=8)),
                ("route", models.CharField(help_text="The address's template, never an address.", max_length=160)),
                ("status", models.PositiveSmallIntegerField()),
                ("code", models.CharField(blank=True, default="", help_text="Of an error.", max_length=8)),
                ("duration_ms", models.PositiveIntegerField()),
                ("request_id", models.UUIDField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["account_id", "-id"], name="ops_requestline_account")],
            },
        ),
    ]
