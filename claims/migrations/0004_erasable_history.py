from django.db import migrations

from config.core.append_only import AllowErasure


class Migration(migrations.Migration):
    dependencies = [("claims", "0003_unlabeled_keys")]

    operations = [
        AllowErasure("claims_claimhistory", ["reason", "metadata"]),
    ]
