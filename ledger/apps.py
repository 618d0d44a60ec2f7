"""The ledger as a Django app."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """Registers the log's tables under the label `ledger`."""

    name = "ledger"
    verbose_name = "Anchoring ledger"
