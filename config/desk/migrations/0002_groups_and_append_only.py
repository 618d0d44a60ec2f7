from django.db import migrations

from config.append_only import AppendOnly
from config.groups import OPERATIONS, REVIEWER, SUPPORT, GrantToGroups

PERMISSIONS = {
    "view_personal_data": ("Can see personal data unmasked", [REVIEWER]),
    "unmask_personal_data": ("Can unmask personal data with a reason", [SUPPORT]),
    "export_records": ("Can export lists", [REVIEWER, OPERATIONS]),
}


def grant(apps, editor):
    """Hand out what is no verb on one model."""
    content_type, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="desk", model="sighting"
    )
    for codename, (name, groups) in PERMISSIONS.items():
        permission, _ = apps.get_model("auth", "Permission").objects.get_or_create(
            content_type=content_type, codename=codename, defaults={"name": name}
        )
        for group_name in groups:
            group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=group_name)
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("desk", "0001_initial"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        AppendOnly("desk_sighting"),
        # Who did what at the desk is evidence as well.
        AppendOnly("django_admin_log"),
        GrantToGroups("desk", "sighting", {OPERATIONS: ["view"]}),
        GrantToGroups("desk", "proposal", {REVIEWER: ["view"]}),
        GrantToGroups("desk", "assignment", {REVIEWER: ["view"]}),
        GrantToGroups("admin", "logentry", {OPERATIONS: ["view"]}),
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
