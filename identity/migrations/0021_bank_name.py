"""The name of a linked bank, which the person's consent is named by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("identity", "0020_fill_api_key_name_keys")]

    operations = [migrations.AddField("bankitem", "institution_name", models.CharField(max_length=255, null=True))]
