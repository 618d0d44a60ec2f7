"""Fill the keys of API keys' names. Of keys that have one name by now, the oldest has its key.

The others go on working without one, and so do keys that ended or were rotated.
"""

from typing import Any

from django.db import IntegrityError, migrations
from django.utils import timezone

from config.core.names import name_key


def fill_keys(apps: Any, schema_editor: Any) -> None:
    api_keys = apps.get_model("identity", "ApiKey").objects.using(schema_editor.connection.alias)
    live = api_keys.filter(revoked_at=None, expires_at__gt=timezone.now(), replaced_by=None)
    keys: dict[str, str] = {}
    for pk, owner, name in live.order_by("created_at", "pk").values_list("pk", "owner_id", "name"):
        keys.setdefault(name_key(name, owner), pk)
    for key, pk in keys.items():
        try:
            api_keys.filter(pk=pk).update(name_key=key)
        except IntegrityError:  # a server of the new version has made a key of this name by now
            continue


class Migration(migrations.Migration):
    # The lock of the column would stop every request for as long as the keys are computed.
    atomic = False
    dependencies = [("identity", "0019_export_language")]

    operations = [migrations.RunPython(fill_keys, migrations.RunPython.noop)]
