from django.db import migrations

from config.core.groups import OPERATIONS, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [
        ("backoffice", "0001_initial"),
        ("ops", "0003_failed_items"),
    ]

    operations = [
        GrantToGroups("ops", {"faileditem": {OPERATIONS: ["view", "change"], SUPPORT: ["view"]}}),
    ]
