"""Index the reports that a score waits for."""

from django.db import migrations, models
from django.db.models import Q

from config.core.indexes import AddIndexWithoutLock


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("credit", "0027_offer_reports")]

    operations = [
        AddIndexWithoutLock(
            model_name="report",
            index=models.Index(
                fields=["application"], condition=Q(score_waits=True), name="credit_report_score_waits"
            ),
        ),
    ]
