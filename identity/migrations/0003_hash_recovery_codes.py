"""Keep recovery codes of version 1.0 as hashes. It may be interrupted and run again, and runs while everything serves.

Backwards it does nothing: no seed can be made from hashes. Version 1.0 serves on, and takes no recovery codes.
"""

from typing import Any

from django.apps import apps as installed
from django.db import migrations

from identity.accounts import seeds


def hash_codes(apps: Any, schema_editor: Any) -> None:
    seeds.hash_codes(apps)


class Migration(migrations.Migration):
    atomic = False
    changes = ["mfa_authenticator"]

    dependencies = [
        ("identity", "0002_recovery_codes"),
        ("ops", "0004_encryption"),  # seeds are opened, which looks at the mode of the encryption
        # Service B has no accounts.
        *([("mfa", "0003_authenticator_type_uniq")] if installed.is_installed("allauth.mfa") else []),
    ]

    operations = [migrations.RunPython(hash_codes, migrations.RunPython.noop)]
