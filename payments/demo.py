from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from config.core.lifecycle import Actor
from config.ops import demo_ids
from config.webhooks.events import record_event
from payments.cards import services as card
from payments.cards.fees import fee_cents
from payments.cards.models import OPEN, PATIENCE_MAX, UNKNOWN, Payment
from payments.crypto.broadcast import confirm_payment, prepare_payment, store_payment
from payments.crypto.models import CryptoPayment
from payments.wallets import services as wallets
from payments.wallets.models import CONNECTED, WALLETCONNECT, Wallet

_PHONE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
_OLD_PHONE = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
# The demo payments have a longer signing deadline than SIGNING_MINUTES.
_SIGNING_DAYS = 365
_CARDS = [
    (4_250, "pm_sandbox_ok", "Application fee"),
    (120_000, "pm_sandbox_ok", "First installment"),
    (8_900, "pm_sandbox_declined", "Second installment"),
]


def seed(*, consumer: Any, staff: Any, now: datetime) -> None:
    """Create the demo payments and wallets if they do not exist. The function sends no requests to real vendors."""
    if settings.CARD_PROCESSOR == "sandbox" and not Payment.objects.filter(user=consumer).exists():
        for amount_cents, token, description in _CARDS:
            order = {"amount_cents": amount_cents, "currency": "usd", "payment_method_id": token}
            card.process({**order, "description": description}, user=consumer, key=None)
    if settings.CARD_PROCESSOR == "sandbox" and not Payment.objects.filter(user=staff).exists():
        _create_open_payments(staff, now)
    if Wallet.objects.filter(pk=demo_ids.PHONE_WALLET).exists():
        return
    phone = _connect(demo_ids.PHONE_WALLET, consumer, _PHONE, "Phone", now)
    _connect(demo_ids.OLD_WALLET, consumer, _OLD_PHONE, "Old phone", now)
    if settings.CUSTODY == "sandbox":
        network = settings.SETTLEMENT_NETWORK
        wallets.connect_custodial(owner=consumer, network=network, label="Savings", now=now)
    if settings.SETTLEMENT_RPC_URL:
        return
    rent = _initiate(demo_ids.SUBMITTED_PAYMENT, phone, "Rent for May", now)
    _initiate(demo_ids.UNSIGNED_PAYMENT, phone, "Invoice 17", now)
    actor = Actor(user=consumer, credential="demo")
    confirm_payment(str(rent.pk), actor=actor, signed_transaction="0x00", network=None, now=now)


def _create_open_payments(owner: Any, now: datetime) -> None:
    """Create unfinished payments. The worker later finds no charges for these payments and finishes them."""
    for status in OPEN:
        Payment.objects.create(
            user=owner,
            amount_cents=35_000,
            fee_amount_cents=fee_cents(35_000),
            currency="usd",
            payment_method_id="pm_sandbox_error",
            method_token="pm_sandbox_error",  # noqa: S106  selects the response of the sandbox
            description=f"Third installment ({status.lower()})",
            processor="sandbox",
            processor_key=f"demo-{status.lower()}",
            status=status,
            due_at=now + PATIENCE_MAX,
            unanswered_since=now if status == UNKNOWN else None,
            created_at=now,
        )


def _connect(identifier: UUID, owner: Any, address: str, label: str, now: datetime) -> Wallet:
    wallet = Wallet.objects.create(
        id=identifier,
        user=owner,
        kind=WALLETCONNECT,
        network=settings.SETTLEMENT_NETWORK,
        address=address,
        label=label,
        is_default=not Wallet.objects.filter(user=owner).exists(),
        connected_at=now,
    )
    members = {"kind": WALLETCONNECT, "network": wallet.network, "status": CONNECTED, "is_default": wallet.is_default}
    record_event("wallet.connected", account_id=owner.pk, now=now, wallet_id=str(wallet.pk), **members)
    return wallet


def _initiate(identifier: UUID, wallet: Wallet, description: str, now: datetime) -> CryptoPayment:
    payment = prepare_payment(
        owner=wallet.user,
        wallet_id=str(wallet.pk),
        to_address="0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        amount_usdc=25_000_000,
        description=description,
        network=wallet.network,
        now=now,
    )
    payment.id, payment.expires_at = identifier, now + timedelta(days=_SIGNING_DAYS)
    store_payment(payment)
    return payment
