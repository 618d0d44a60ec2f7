"""Adds a random default, so that PostgreSQL rewrites all rows and blocks readers meanwhile."""

from django.db import migrations, models
from django.db.models.functions import Random


class Migration(migrations.Migration):
    dependencies = [("claims", "PREDECESSOR")]
    operations = [migrations.AddField("claim", "sample", models.FloatField(db_default=Random()))]
