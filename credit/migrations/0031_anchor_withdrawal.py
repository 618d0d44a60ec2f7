"""Let the record of a withdrawal from a contract go to the ledger."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("credit", "0030_fill_offer_name_keys"),
    ]

    operations = [
        # 0032 adds it again, with the new column.
        migrations.RemoveConstraint(model_name="decisionanchor", name="credit_anchor_of_one"),
        migrations.AddField(
            model_name="decisionanchor",
            name="withdrawal",
            field=models.ForeignKey(
                db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+",
                to="credit.contractwithdrawal",
            ),
        ),
    ]
