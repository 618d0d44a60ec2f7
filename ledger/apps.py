"""The ledger as a Django app."""

from django.apps import AppConfig
from django.conf import settings


def _check_key() -> str:
    """Load the signing key, rather than fail at the first request; raises ImproperlyConfigured."""
    from ledger.keys import signer

    return f"signs as {signer().name}"


def _check_witnesses() -> str:
    """Read the policy file; raises ImproperlyConfigured."""
    from ledger import witnessing

    asked = witnessing.policy()
    return "asks nobody" if asked is None else f"asks {sum(one.url is not None for one in asked.witnesses)} witnesses"


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Anchoring ledger"

    def ready(self) -> None:
        from config.ops import doctor, readings
        from ledger import metrics

        if settings.SERVICE == "ledger":
            doctor.register("ledger_signing_key", _check_key, at_start=True)
            doctor.register("ledger_witnesses", _check_witnesses, at_start=True)
        readings.register(self.get_model("Block"), metrics.measure)
