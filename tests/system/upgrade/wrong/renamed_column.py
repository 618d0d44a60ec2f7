"""To the version before a column that has another name is gone."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.RenameField("claim", "notes", "remarks")]
