"""A key by which the names of a lender's active offers are unique as they look, and the reports that an offer requests.

No other table changes here. A transaction that also locks accounts and a request would wait for each other.
"""

from django.db import migrations, models

from config.core.json_text import JsonTextField


class Migration(migrations.Migration):
    dependencies = [("credit", "0028_report_score_waits")]

    operations = [
        migrations.AddField("offer", "reports", JsonTextField(null=True)),
        migrations.AddField(
            model_name="offer",
            name="name_key",
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
    ]
