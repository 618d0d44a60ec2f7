"""A key by which the names of a lender's active offers are unique as they look."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("credit", "0028_report_score_waits")]

    operations = [
        migrations.AddField(
            model_name="offer",
            name="name_key",
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
    ]
