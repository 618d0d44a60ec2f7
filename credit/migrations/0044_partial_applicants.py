"""The incomplete applicants, which the form of the draft stores."""

import django.db.models.deletion
from django.db import migrations, models

import config.core.encryption


class Migration(migrations.Migration):
    dependencies = [("credit", "0043_text_languages")]

    operations = [
        migrations.CreateModel(
            name="PartialApplicants",
            fields=[
                (
                    "application",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="partial_applicants",
                        serialize=False,
                        to="credit.application",
                    ),
                ),
                ("entered", config.core.encryption.EncryptedTextField()),
            ],
            options={
                "verbose_name": "incomplete applicant",
                "verbose_name_plural": "incomplete applicants",
            },
        ),
    ]
