from django.db import migrations

from config.append_only import AppendOnly
from identity.groups import REVIEWER, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [("identity", "0003_kyc_and_bank_data")]

    operations = [
        AppendOnly("identity_kycverificationhistory"),
        GrantToGroups("identity", "kycverification", {REVIEWER: ["view", "review"], SUPPORT: ["view"]}),
        GrantToGroups("identity", "bankitem", {SUPPORT: ["view"]}),
        GrantToGroups("identity", "bankaccount", {SUPPORT: ["view"]}),
        GrantToGroups("identity", "banktransaction", {SUPPORT: ["view"]}),
    ]
