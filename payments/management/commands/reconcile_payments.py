from datetime import datetime

from config.ops.commands import WorkerCommand
from payments.cards.reconciliation import apply_parked, reconcile_due
from payments.crypto.settlement import settle_crypto


class Command(WorkerCommand):
    idle_seconds = 2.0
    no_progress = frozenset({"unknown", "errors", "crypto_waiting", "crypto_unreachable"})
    fault, fault_count = "{errors} payments or events failed; they are tried again later.", "errors"
    help = "Complete open payments, until SIGTERM or with --once. Several instances can run at the same time."

    def work(self, *, now: datetime) -> dict[str, int]:
        crypto = {f"crypto_{name}": count for name, count in settle_crypto(now=now).items()}
        cards, events = reconcile_due(now=now), apply_parked(now=now)
        errors = cards["errors"] + events.pop("event_errors") + crypto.pop("crypto_errors")
        return {**cards, **events, **crypto, "errors": errors}
