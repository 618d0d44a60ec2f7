"""Compute the keys of publications again: arXiv ids and ISBNs of ten digits are known without a prefix now."""

from importlib import import_module

from django.db import migrations

renew_keys = import_module("claims.migrations.0002_publication_keys").renew_keys


class Migration(migrations.Migration):
    dependencies = [("claims", "0002_publication_keys")]
    changes = ["claims_claim.publication_key"]

    operations = [migrations.RunPython(renew_keys, migrations.RunPython.noop)]
