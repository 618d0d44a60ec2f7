"""The languages of the texts that reviewers write to applicants."""

from django.db import migrations, models

from config.core.indexes import AddFields


class Migration(migrations.Migration):
    dependencies = [("credit", "0042_inviter")]

    operations = [
        AddFields(
            {
                "requesteddocument": {
                    "language": models.CharField(editable=False, max_length=2, null=True),
                    "reason_language": models.CharField(editable=False, max_length=2, null=True),
                },
                "correction": {"reason_language": models.CharField(editable=False, max_length=2, null=True)},
            }
        )
    ]
