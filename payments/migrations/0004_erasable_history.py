from django.db import migrations

from config.core.append_only import AllowErasure


class Migration(migrations.Migration):
    dependencies = [("payments", "0003_payment_transaction")]

    operations = [
        AllowErasure("payments_paymentattempt", ["detail"]),
        AllowErasure("payments_cryptotransaction", ["raw"]),
        AllowErasure("payments_cryptopaymenthistory", ["reason", "metadata"]),
    ]
