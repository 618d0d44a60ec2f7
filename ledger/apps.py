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


def _check_log() -> str:
    """Look whether this machine may sign. Where it may not, a ledger still serves reads, and its health says so."""
    from config.ops.doctor import Warned
    from ledger import guard, keys, log, signing
    from ledger.errors import GuardMissingError, LogUnavailableError
    from ledger.models import database

    using = database().alias
    head = log.read_head(using)
    try:
        if guard.read() is None:  # what looks closer would make the file, and as its own whoever runs this
            if head.number:
                raise GuardMissingError
            return "empty, and its guard file is made with the first block"
        signing.check_guard(head, using=using)
        if keys.is_here():
            signing.check_key(head)
    except LogUnavailableError as refusal:
        raise Warned(str(refusal)) from refusal
    return f"may be signed after {head.tree_size} entries"


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Anchoring ledger"

    def ready(self) -> None:
        from config.ops import doctor, readings
        from ledger import metrics

        if settings.SERVICE == "ledger":
            doctor.register("ledger_signing_key", _check_key, at_start=True)
            doctor.register("ledger_witnesses", _check_witnesses, at_start=True)
        doctor.register("ledger", _check_log)
        readings.register(self.get_model("Block"), metrics.measure)
