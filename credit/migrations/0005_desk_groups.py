from django.db import migrations

from identity.groups import OPERATIONS, REVIEWER, SUPPORT, GrantToGroups

READERS = {REVIEWER: ["view"], SUPPORT: ["view"]}


class Migration(migrations.Migration):
    dependencies = [("credit", "0004_decision_seal"), ("identity", "0002_groups")]

    operations = [
        GrantToGroups("credit", "applicationhistory", READERS),
        GrantToGroups("credit", "applicationrevision", READERS),
        GrantToGroups("credit", "decisionseal", {**READERS, OPERATIONS: ["view"]}),
        # Applications name people, and a reviewer follows the link.
        GrantToGroups("identity", "user", {REVIEWER: ["view"]}),
        GrantToGroups("credit", "provider", {OPERATIONS: ["view", "change"]}),
        GrantToGroups("credit", "providermember", {**READERS, OPERATIONS: ["view", "add", "change", "delete"]}),
    ]
