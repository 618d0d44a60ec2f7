"""The version before still reads what this takes away."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.RemoveField("claim", "notes")]
