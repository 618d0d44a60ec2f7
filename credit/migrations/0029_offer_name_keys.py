"""Make the names of a lender's active offers unique as they look. Of offers that have one name by now, the oldest has
its key.

The others go on working without a key, and `doctor` lists them.
"""

from typing import Any

from django.db import migrations, models

from config.core.names import name_key


def fill_keys(apps: Any, schema_editor: Any) -> None:
    offers = apps.get_model("credit", "Offer").objects.using(schema_editor.connection.alias).filter(is_active=True)
    keys: dict[str, int] = {}
    for pk, provider, name in offers.order_by("pk").values_list("pk", "provider_id", "name"):
        keys.setdefault(name_key(name, provider), pk)
    for key, pk in keys.items():
        offers.filter(pk=pk).update(name_key=key)


class Migration(migrations.Migration):
    dependencies = [("credit", "0028_report_score_waits")]

    operations = [
        migrations.AddField(
            model_name="offer",
            name="name_key",
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
        migrations.RunPython(fill_keys, migrations.RunPython.noop),
    ]
