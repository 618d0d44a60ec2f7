from django.db import migrations

from config.append_only import AppendOnly
from identity.groups import REVIEWER, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [("credit", "0002_initial"), ("identity", "0002_groups")]

    operations = [
        AppendOnly("credit_applicationhistory"),
        AppendOnly("credit_applicationrevision"),
        GrantToGroups("credit", "application", {REVIEWER: ["view", "review"], SUPPORT: ["view"]}),
        GrantToGroups("credit", "offer", {REVIEWER: ["view"], SUPPORT: ["view"]}),
        GrantToGroups("credit", "provider", {REVIEWER: ["view"], SUPPORT: ["view"]}),
    ]
