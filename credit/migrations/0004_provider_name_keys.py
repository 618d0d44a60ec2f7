"""Make the names of lenders unique as they look. Of lenders that have one name by now, the oldest has its key.

The others go on working without a key, and `doctor` lists them.
"""

from typing import Any

from django.db import migrations, models

from config.core.names import name_key


def fill_keys(apps: Any, schema_editor: Any) -> None:
    providers = apps.get_model("credit", "Provider").objects.using(schema_editor.connection.alias)
    keys: dict[str, str] = {}
    for pk, name in providers.exclude(name="").order_by("created_at", "pk").values_list("pk", "name"):
        keys.setdefault(name_key(name), pk)
    for key, pk in keys.items():
        providers.filter(pk=pk).update(name_key=key)


class Migration(migrations.Migration):
    dependencies = [("credit", "0003_provider_agency")]

    operations = [
        migrations.AddField(
            model_name="provider",
            name="name_key",
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
        migrations.RunPython(fill_keys, migrations.RunPython.noop),
    ]
