"""Fill the keys of offers' names. Of offers that have one name by now, the oldest has its key.

The others go on working without a key, and `doctor` lists them.
"""

from typing import Any

from django.db import IntegrityError, migrations

from config.core.names import name_key


def fill_keys(apps: Any, schema_editor: Any) -> None:
    offers = apps.get_model("credit", "Offer").objects.using(schema_editor.connection.alias).filter(is_active=True)
    keys: dict[str, int] = {}
    for pk, provider, name in offers.order_by("pk").values_list("pk", "provider_id", "name"):
        keys.setdefault(name_key(name, provider), pk)
    for key, pk in keys.items():
        try:
            offers.filter(pk=pk).update(name_key=key)
        except IntegrityError:  # a server of the new version has made an offer of this name by now
            continue


class Migration(migrations.Migration):
    # The lock of the column would stop every request for as long as the keys are computed.
    atomic = False
    dependencies = [("credit", "0029_offer_name_keys")]

    operations = [migrations.RunPython(fill_keys, migrations.RunPython.noop)]
