"""What of payments moves with an account's clock, and what goes when it is reset."""

from datetime import datetime

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from config.core.errors import ValidationFailed
from config.sandbox import reset, timers
from payments.cards.models import OPEN, Payment, PaymentMethod
from payments.cards.processors.sandbox import SandboxProcessor
from payments.cards.reconciliation import reconcile_due
from payments.crypto.machine import AWAITING_SIGNATURE, BROADCASTING, SUBMITTED
from payments.crypto.models import CryptoPayment, CryptoTransaction
from payments.crypto.settlement import settle_crypto
from payments.wallets.models import Wallet


def register() -> None:
    timers.register_timer(Payment, "due_at", "unanswered_since", "created_at", owner="user")
    timers.register_timer(CryptoPayment, "expires_at", "look_at", "updated_at", owner="user")
    timers.register_worker(settle)
    reset.register_task(hand_over)
    for model in (PaymentMethod, Wallet):
        reset.register_owned(model, "user_id")


def settle(*, now: datetime) -> dict[str, int]:
    """Do what `reconcile_payments` does, except where somebody outside has to be asked: that is left to it."""
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


def hand_over(going: reset.Reset) -> int:
    """Hand over payments. Raises ValidationFailed while one of them is on its way, which must reach its own account.

    Custody accounts stay: whoever connects again finds what they hold.
    """
    handed = sum(
        model._default_manager.filter(user_id=going.account_id).update(user_id=going.keeper_id)
        for model in (Payment, CryptoPayment)
    )
    # Looked at now that the rows are handed over: what has begun a moment ago is among them.
    if Payment.objects.filter(user_id=going.keeper_id, status__in=OPEN).exists():
        raise ValidationFailed("A card payment is on its way. Wait until it is Completed or Failed, and reset then.")
    given = Exists(CryptoTransaction.objects.filter(payment=OuterRef("pk")))
    on_its_way = Q(status__in=(BROADCASTING, SUBMITTED)) | Q(given, status=AWAITING_SIGNATURE)
    if CryptoPayment.objects.filter(on_its_way, user_id=going.keeper_id).exists():
        raise ValidationFailed("A signed crypto payment is on its way. Wait until it has settled, and reset then.")
    return handed
