"""A key by which the names of an account's API keys are unique as they look."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("identity", "0017_erasable_history")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="name_key",
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
    ]
