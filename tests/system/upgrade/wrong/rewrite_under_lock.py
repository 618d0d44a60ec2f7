"""Every row gets a value of its own, so PostgreSQL writes them all anew while nobody may read."""

from django.db import migrations, models
from django.db.models.functions import Random


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.AddField("claim", "sample", models.FloatField(db_default=Random()))]
