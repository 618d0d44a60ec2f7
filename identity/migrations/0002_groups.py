from django.db import migrations

from identity.groups import OPERATIONS, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [
        ("identity", "0001_initial"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        GrantToGroups("identity", "user", {SUPPORT: ["view"], OPERATIONS: ["view"]}),
        GrantToGroups("identity", "apikey", {OPERATIONS: ["view", "change"]}),
        GrantToGroups("identity", "signingkey", {OPERATIONS: ["view"]}),
        GrantToGroups("webhooks", "event", {SUPPORT: ["view"], OPERATIONS: ["view"]}),
    ]
