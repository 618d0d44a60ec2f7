from django.db import migrations

from config.append_only import AppendOnly
from identity.groups import REVIEWER, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [("claims", "0001_initial"), ("identity", "0002_groups")]

    operations = [
        AppendOnly("claims_claimhistory"),
        GrantToGroups("claims", "claim", {REVIEWER: ["view", "review"], SUPPORT: ["view"]}),
        GrantToGroups("claims", "claimhistory", {REVIEWER: ["view"], SUPPORT: ["view"]}),
    ]
