from django.db import migrations

from config.append_only import AppendOnly
from identity.groups import REVIEWER, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [("staging", "0001_initial"), ("identity", "0002_groups")]

    operations = [
        AppendOnly("staging_approval"),
        GrantToGroups("staging", "stageditem", {REVIEWER: ["view"], SUPPORT: ["view"]}),
        GrantToGroups("staging", "approval", {REVIEWER: ["view"], SUPPORT: ["view"]}),
        GrantToGroups("staging", "note", {REVIEWER: ["view"], SUPPORT: ["view"]}),
    ]
