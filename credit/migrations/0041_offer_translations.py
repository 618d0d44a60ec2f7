"""The language of an offer's texts, and their translations."""

from django.db import migrations, models

from config.core.indexes import AddFields
from config.core.json_text import JsonTextField


class Migration(migrations.Migration):
    dependencies = [("credit", "0040_agency_names")]

    operations = [
        AddFields(
            {
                "offer": {
                    "language": models.CharField(
                        choices=[("en", "English"), ("es", "Español"), ("de", "Deutsch")],
                        help_text="The language of the offer's texts: `en`, `es`, or `de`. Null means `en`.",
                        max_length=2,
                        null=True,
                    ),
                    "translations": JsonTextField(
                        help_text="The offer's texts in other languages, by language. Applicants read the texts in "
                        "their language. Null if none.",
                        null=True,
                    ),
                },
            }
        )
    ]
