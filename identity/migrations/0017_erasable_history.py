from django.db import migrations

from config.core.append_only import AllowErasure


class Migration(migrations.Migration):
    dependencies = [("identity", "0016_export_files")]

    operations = [
        AllowErasure("identity_kycverificationhistory", ["reason", "metadata"]),
        AllowErasure("identity_accounthistory", ["object_id", "details"]),
    ]
