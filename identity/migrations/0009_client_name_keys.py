"""Make the names of OAuth clients unique as they look. Of clients that have one name by now, the oldest has its key.

The others go on working without a key, and `doctor` lists them.
"""

from typing import Any

from django.db import migrations, models

from config.core.names import name_key


def fill_keys(apps: Any, schema_editor: Any) -> None:
    clients = apps.get_model("identity", "OAuthClient").objects.using(schema_editor.connection.alias)
    keys: dict[str, int] = {}
    for pk, name in clients.order_by("pk").values_list("pk", "name"):
        keys.setdefault(name_key(name), pk)
    for key, pk in keys.items():
        clients.filter(pk=pk).update(name_key=key)


class Migration(migrations.Migration):
    dependencies = [("identity", "0008_user_names")]

    operations = [
        migrations.AddField(
            model_name="oauthclient",
            name="name_key",
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
        migrations.RunPython(fill_keys, migrations.RunPython.noop),
    ]
