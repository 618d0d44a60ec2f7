"""The owner who invited a member by user name."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from config.core.indexes import AddFields


class Migration(migrations.Migration):
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL), ("credit", "0041_offer_translations")]

    operations = [
        AddFields(
            {
                "providerinvitation": {
                    "invited_by": models.ForeignKey(
                        db_index=False,
                        help_text="The owner who invited. Null in rows of a server of version 1.0.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                },
            }
        )
    ]
