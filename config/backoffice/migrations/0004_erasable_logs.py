from django.db import migrations

from config.core.append_only import AllowErasure


class Migration(migrations.Migration):
    dependencies = [("backoffice", "0003_unmask_erased_data")]

    operations = [
        AllowErasure("backoffice_dataaccess", ["reason", "details"]),
        AllowErasure("backoffice_note", ["text"]),
        AllowErasure("django_admin_log", ["change_message", "object_repr"]),
    ]
