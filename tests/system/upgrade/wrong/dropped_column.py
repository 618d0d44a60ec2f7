"""Removes a column that the previous version still reads."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.RemoveField("claim", "notes")]
