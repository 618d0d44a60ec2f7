from datetime import datetime
from typing import Any

from django.conf import settings

from config.core.lifecycle import Actor
from payments.cards import services as card
from payments.cards.models import Payment
from payments.crypto.broadcast import confirm_payment, initiate_payment
from payments.wallets import services as wallets
from payments.wallets.models import Wallet

_PHONE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
_LANDLORD = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
_CARDS = [
    (4_250, "pm_sandbox_ok", "Application fee"),
    (120_000, "pm_sandbox_ok", "First instalment"),
    (8_900, "pm_sandbox_declined", "Second instalment"),
]


def seed(*, consumer: Any, staff: Any, now: datetime) -> None:  # noqa: ARG001  the signature of every seed
    """Make them, once; with real providers switched on nothing is sent to them."""
    if settings.CARD_PROCESSOR == "sandbox" and not Payment.objects.filter(user=consumer).exists():
        for amount_cents, token, description in _CARDS:
            order = {"amount_cents": amount_cents, "currency": "usd", "payment_method_id": token}
            card.process({**order, "description": description}, user=consumer, key=None)
    if Wallet.objects.filter(user=consumer).exists():
        return
    network = settings.SETTLEMENT_NETWORK
    phone = wallets.connect_reference(owner=consumer, address=_PHONE, network=network, label="Phone", now=now)
    if settings.CUSTODY == "sandbox":
        wallets.connect_custodial(owner=consumer, network=network, label="Savings", now=now)
    if settings.SETTLEMENT_RPC_URL:
        return
    for description, is_signed in (("Rent for May", True), ("Invoice 17", False)):
        payment = initiate_payment(
            owner=consumer,
            wallet_id=str(phone.pk),
            to_address=_LANDLORD,
            amount_usdc=25_000_000,
            description=description,
            network=network,
            now=now,
        )
        if is_signed:
            actor = Actor(user=consumer, credential="demo")
            confirm_payment(str(payment.pk), actor=actor, signed_transaction="0x00", network=None, now=now)
