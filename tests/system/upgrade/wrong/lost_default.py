"""The default is Django's alone: the version before, which does not know the column, cannot make a row."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.AddField("claim", "language", models.CharField(max_length=8, default="en"))]
