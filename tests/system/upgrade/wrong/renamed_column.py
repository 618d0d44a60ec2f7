"""Renames a column, which is then missing for the previous version."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.RenameField("claim", "notes", "remarks")]
