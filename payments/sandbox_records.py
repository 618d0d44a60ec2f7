from datetime import datetime

from django.conf import settings

from config.sandbox.clock import Timer
from payments.cards.models import Payment
from payments.cards.processors.sandbox import SandboxProcessor
from payments.cards.reconciliation import reconcile_due
from payments.crypto.models import CryptoPayment
from payments.crypto.settlement import settle_crypto


def settle(*, now: datetime) -> dict[str, int]:
    """Reconcile payments that involve no real vendor, as `reconcile_payments` does."""
    cards = {"completed": 0, "failed": 0}
    if SandboxProcessor.name == settings.CARD_PROCESSOR:
        cards = reconcile_due(now=now)
    crypto = {"confirmed": 0, "failed": 0, "expired": 0}
    if not settings.SETTLEMENT_RPC_URL:
        crypto = settle_crypto(now=now)
    return {
        "payments_completed": cards["completed"],
        "payments_failed": cards["failed"],
        "crypto_payments_confirmed": crypto["confirmed"],
        "crypto_payments_failed": crypto["failed"],
        "crypto_payments_expired": crypto["expired"],
    }


TIMERS = (
    Timer(Payment, ("due_at", "unanswered_since", "created_at"), ("user",)),
    Timer(CryptoPayment, ("expires_at", "look_at", "updated_at"), ("user",)),
)
