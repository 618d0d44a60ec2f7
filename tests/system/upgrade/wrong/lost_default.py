"""Only Django has the default: the previous version, which does not know the column, cannot insert a row."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.AddField("claim", "language", models.CharField(max_length=8, default="en"))]
