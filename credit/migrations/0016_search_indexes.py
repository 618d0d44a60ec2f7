"""Index what the console's search finds applications by: the applicants' blind index, amounts, and references."""

from django.db import migrations, models
from django.db.models.functions import Cast, Right

from config.core.indexes import AddIndexWithoutLock, add_for_postgresql


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("credit", "0015_person_keys")]

    operations = [
        AddIndexWithoutLock(
            model_name="application",
            index=models.Index(fields=["amount_cents", "-id"], name="credit_app_amount"),
        ),
        AddIndexWithoutLock(
            model_name="application",
            index=models.Index(Right(Cast("id", models.CharField()), 8), name="credit_app_reference"),
        ),
        add_for_postgresql(
            "credit_app_applicants", "credit_application USING gin (string_to_array(applicant_index, ' '))"
        ),
    ]
