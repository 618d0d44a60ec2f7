"""The name of holds in the back office. It changes no table."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("credit", "0037_provider_contact"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="retentionhold", options={"ordering": ["id"], "verbose_name": "litigation hold"}
        ),
    ]
