from datetime import datetime

from django.conf import settings

from config.core.errors import ValidationFailed
from config.sandbox.records import Reset, SandboxRecords, Timer
from payments.cards.models import Payment, PaymentMethod
from payments.cards.processors.sandbox import SandboxProcessor
from payments.cards.reconciliation import reconcile_due
from payments.crypto.models import CryptoPayment
from payments.crypto.settlement import settle_crypto
from payments.on_its_way import what_is_on_its_way
from payments.wallets.models import Wallet


def settle(*, now: datetime) -> dict[str, int]:
    """Do what `reconcile_payments` does, except for calls to third parties: those are left to it."""
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


def hand_over(going: Reset) -> int:
    """Hand over payments. Raises ValidationFailed while one of them is on its way, which must reach its own account.

    Custody accounts stay: whoever connects again finds what they hold.
    """
    handed = sum(
        model._default_manager.filter(user_id=going.account_id).update(user_id=going.keeper_id)
        for model in (Payment, CryptoPayment)
    )
    # Looked at now that the rows are handed over: what has begun a moment ago is among them.
    if waits_for := what_is_on_its_way(going.keeper_id):
        raise ValidationFailed(f"{waits_for}, and reset then.")
    return handed


RECORDS = SandboxRecords(
    timers=(
        Timer(Payment, ("due_at", "unanswered_since", "created_at"), ("user",)),
        Timer(CryptoPayment, ("expires_at", "look_at", "updated_at"), ("user",)),
    ),
    workers=(settle,),
    handed_over=((PaymentMethod, "user_id"), (Wallet, "user_id")),
    tasks=(hand_over,),
)
