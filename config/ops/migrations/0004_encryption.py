from django.db import migrations, models

from config.core.append_only import KeepsLast


class Migration(migrations.Migration):
    dependencies = [
        ("ops", "0003_failed_items"),
    ]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="encryption",
            field=models.CharField(
                help_text="Which form of encrypted values is written and read, see `config.core.encryption`. Null is unbound.",
                max_length=8,
                null=True,
            ),
        ),
        KeepsLast("ops_installation", "encryption", "bound"),
    ]
