"""Adds a column without a database default, so that the previous version cannot insert rows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.AddField("claim", "language", models.CharField(max_length=8, default="en"))]
