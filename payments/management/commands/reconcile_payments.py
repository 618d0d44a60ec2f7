from datetime import datetime

from config.ops.commands import WorkerCommand
from payments.cards.reconciliation import apply_parked, reconcile_due
from payments.crypto.settlement import settle_crypto


class Command(WorkerCommand):
    idle_seconds = 2.0
    no_progress = frozenset({"unknown", "crypto_waiting", "crypto_unreachable"})
    help = "Finish open payments, until SIGTERM; with --once what is due now. Any number may run."

    def work(self, *, now: datetime) -> dict[str, int]:
        crypto = {f"crypto_{name}": count for name, count in settle_crypto(now=now).items()}
        return {**reconcile_due(now=now), "events": apply_parked(now=now), **crypto}
