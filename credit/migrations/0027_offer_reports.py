"""Whether a score waits for a report, and reports without an account that requested them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from config.core.append_only import KeepTriggers, NeverChanges

_RULE = NeverChanges(
    "credit_report", ["id", "application_id", "applicant", "kind", "vendor", "purpose", "requested_by_id"]
)


class Migration(migrations.Migration):
    dependencies = [
        ("credit", "0026_erasable_history"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        KeepTriggers(_RULE),
        migrations.AddField("report", "score_waits", models.BooleanField(default=False, db_default=False)),
        migrations.AlterField(
            "report",
            "requested_by",
            models.ForeignKey(
                settings.AUTH_USER_MODEL,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                db_index=False,
            ),
        ),
        KeepTriggers(_RULE),
    ]
