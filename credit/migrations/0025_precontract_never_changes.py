from django.db import migrations

from config.core import encryption
from config.core.append_only import NeverChanges


class Migration(migrations.Migration):
    dependencies = [
        ("credit", "0024_precontract"),
    ]

    operations = [
        migrations.AlterField("precontract", "content", encryption.EncryptedTextField(null=True)),
        migrations.AlterField("precontract", "html", encryption.EncryptedTextField(null=True)),
        NeverChanges("credit_precontract", ["id", "application_id", "terms_sha256", "language", "sha256"]),
    ]
