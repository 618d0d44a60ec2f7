"""The permission to unmask what a law keeps of an erased account, for `Operations`."""

from django.db import migrations

from config.core.groups import OPERATIONS

PERMISSIONS = [
    ("view_personal_data", "Can see personal data unmasked"),
    ("unmask_personal_data", "Can unmask personal data with a reason"),
    ("unmask_erased_data", "Can unmask records of erased accounts with a reason"),
    ("export_records", "Can export lists"),
]


def grant(apps, schema_editor):
    alias = schema_editor.connection.alias
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(alias)
    content_type, _ = content_types.get_or_create(app_label="backoffice", model="dataaccess")
    permission, _ = apps.get_model("auth", "Permission").objects.using(alias).get_or_create(
        content_type=content_type, codename=PERMISSIONS[2][0], defaults={"name": PERMISSIONS[2][1]}
    )
    group, _ = apps.get_model("auth", "Group").objects.using(alias).get_or_create(name=OPERATIONS)
    group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [("backoffice", "0002_failed_items")]

    operations = [
        migrations.AlterModelOptions(
            name="dataaccess", options={"permissions": PERMISSIONS, "verbose_name_plural": "data accesses"}
        ),
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
