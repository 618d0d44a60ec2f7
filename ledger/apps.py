from django.apps import AppConfig
from django.conf import settings

from config.core.registration import Declarations


class LedgerConfig(Declarations, AppConfig):
    name = "ledger"
    verbose_name = "Anchoring ledger"

    personal_data = "privacy.TABLES"
    erasure_steps = ("erasure.erase_metadata",)
    erase_subject = ("erasure.erase_metadata",)
    readings = ("metrics.READING",)

    def ready(self) -> None:
        from config.ops.checks import DOCTOR, START, register
        from ledger import checks

        if settings.SERVICE == "ledger":
            register(checks.check_ledger_signing_key, START)
            register(checks.check_ledger_witnesses, DOCTOR, START)
        register(checks.check_ledger, DOCTOR)
