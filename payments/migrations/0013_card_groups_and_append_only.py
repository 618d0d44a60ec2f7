from django.db import migrations

from config.append_only import AppendOnly
from identity.groups import OPERATIONS, SUPPORT, GrantToGroups


class Migration(migrations.Migration):
    dependencies = [("payments", "0012_card_payments")]

    operations = [
        AppendOnly("payments_paymentattempt"),
        GrantToGroups("payments", "payment", {SUPPORT: ["view"], OPERATIONS: ["view"]}),
        GrantToGroups("payments", "paymentmethod", {SUPPORT: ["view"]}),
        GrantToGroups("payments", "processorevent", {OPERATIONS: ["view"]}),
    ]
