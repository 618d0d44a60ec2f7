"""The contact data of a lender. It has a transaction of its own, so that no request waits for two tables."""

from django.db import migrations, models

from config.core.indexes import AddFields
from config.core.json_text import JsonTextField


class Migration(migrations.Migration):
    dependencies = [
        ("credit", "0036_notice_waits_for_choices"),
    ]

    operations = [
        AddFields(
            {
                "provider": {
                    "debt_advice": models.CharField(max_length=1000, null=True),
                    "email": models.CharField(max_length=254, null=True),
                    "phone": models.CharField(max_length=64, null=True),
                    "redress": JsonTextField(null=True),
                    "register_number": models.CharField(max_length=255, null=True),
                    "supervisor": JsonTextField(null=True),
                },
            }
        )
    ]
