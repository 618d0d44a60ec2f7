"""Make the names of an account's API keys unique as they look. Of keys that have one name by now, the oldest has its key.

The others go on working without one, and so do keys that ended or were rotated.
"""

from typing import Any

from django.db import migrations, models
from django.utils import timezone

from config.core.names import name_key


def fill_keys(apps: Any, schema_editor: Any) -> None:
    api_keys = apps.get_model("identity", "ApiKey").objects.using(schema_editor.connection.alias)
    live = api_keys.filter(revoked_at=None, expires_at__gt=timezone.now(), replaced_by=None)
    keys: dict[str, str] = {}
    for pk, owner, name in live.order_by("created_at", "pk").values_list("pk", "owner_id", "name"):
        keys.setdefault(name_key(name, owner), pk)
    for key, pk in keys.items():
        api_keys.filter(pk=pk).update(name_key=key)


class Migration(migrations.Migration):
    dependencies = [("identity", "0017_erasable_history")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="name_key",
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
        migrations.RunPython(fill_keys, migrations.RunPython.noop),
    ]
