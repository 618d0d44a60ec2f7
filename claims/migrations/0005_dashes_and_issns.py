"""Compute the keys of publications again: DOIs with other dashes and quotes, and ISSNs, are known now."""

from importlib import import_module

from django.db import migrations

renew_keys = import_module("claims.migrations.0002_publication_keys").renew_keys


class Migration(migrations.Migration):
    dependencies = [("claims", "0004_erasable_history")]
    changes = ["claims_claim.publication_key"]

    operations = [migrations.RunPython(renew_keys, migrations.RunPython.noop)]
