from django.db import migrations

from config.groups import OPERATIONS, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0002_endpoints_and_deliveries"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        GrantToGroups("webhooks", "endpoint", {SUPPORT: ["view"], OPERATIONS: ["view", "change"]}),
        GrantToGroups("webhooks", "delivery", {SUPPORT: ["view"], OPERATIONS: ["view", "change"]}),
    ]
