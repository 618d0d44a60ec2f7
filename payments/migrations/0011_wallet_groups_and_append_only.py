from django.db import migrations

from config.append_only import AppendOnly
from config.groups import OPERATIONS, SUPPORT, GrantToGroups

READERS = {SUPPORT: ["view"], OPERATIONS: ["view"]}


class Migration(migrations.Migration):
    dependencies = [("payments", "0010_wallets_and_crypto"), ("identity", "0002_groups")]

    operations = [
        AppendOnly("payments_cryptotransaction"),
        AppendOnly("payments_cryptopaymenthistory"),
        GrantToGroups("payments", "wallet", READERS),
        GrantToGroups("payments", "custodyaccount", READERS),
        GrantToGroups("payments", "cryptopayment", READERS),
        GrantToGroups("payments", "cryptotransaction", READERS),
        GrantToGroups("payments", "cryptopaymenthistory", READERS),
    ]
