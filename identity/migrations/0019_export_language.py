"""The language in which the mail about an export is written."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("identity", "0018_api_key_name_keys")]

    operations = [
        migrations.AddField(
            "export", "language", models.CharField(db_default="en", default="en", editable=False, max_length=2)
        ),
    ]
