from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.ids import uuid7
from config.core.lifecycle import Actor, StatefulModel, StatusHistory, Transition
from config.webhooks.events import record_event
from payments.crypto.machine import AWAITING_SIGNATURE, BROADCASTING, CONFIRMED, EMITTED, FAILED, MACHINE, SUBMITTED


class LostRace(Exception):
    """Another process changed the payment after it was read."""


class CryptoPayment(StatefulModel):
    """A transfer that the user's wallet signs. Amounts are in the token's smallest units.

    The requested transfer never changes. A signed transaction must have exactly the same call data.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The payment's id.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="crypto_payments", db_index=False
    )
    wallet = models.ForeignKey(
        "payments.Wallet", on_delete=models.PROTECT, related_name="+", db_index=False, help_text="The paying wallet."
    )
    simulated = models.BooleanField(help_text="Whether the platform simulates the network, so that no funds move.")
    network = models.CharField(max_length=64, help_text="The network, as a CAIP-2 id.")
    from_address = models.CharField(max_length=42)
    to_address = models.CharField(max_length=42, help_text="The payee's address: 0x and 40 hex digits.")
    token_address = models.CharField(max_length=42, blank=True)
    amount_usdc = models.BigIntegerField(help_text="The amount in the smallest units of USDC: 1,000,000 is one dollar.")
    description = models.TextField(null=True)  # noqa: DJ001  null and "" are different
    # The sender's next nonce when the payment was created. Transactions with a lower nonce are older than the payment.
    first_nonce = models.BigIntegerField(default=0)
    status = models.CharField(
        max_length=32,
        choices=[(status, status.replace("_", " ")) for status in MACHINE.statuses],
        help_text="The status of the payment.",
    )
    tx_hash = models.CharField(  # noqa: DJ001  null before a signature
        max_length=66,
        null=True,
        help_text="The hash of the transaction: 0x and 64 hex digits; null before it is signed.",
    )
    block_number = models.BigIntegerField(null=True)
    failure = models.CharField(max_length=255, null=True)  # noqa: DJ001
    expires_at = models.DateTimeField(
        help_text="The time by which you must send the signed transaction (UTC). After that, the payment expires."
    )
    look_at = models.DateTimeField(null=True, help_text="When the worker checks the transaction on the chain again.")
    submitted_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    machine = MACHINE
    unsigned: dict[str, Any]  # the transaction for the wallet to sign; not stored

    class Meta:
        indexes = [
            models.Index(fields=["user", "-id"], name="payments_crypto_user"),
            models.Index(fields=["tx_hash"], condition=Q(tx_hash__isnull=False), name="payments_crypto_hash"),
            # These partial indexes contain only the payments that the worker follows.
            models.Index(fields=["id"], condition=Q(status__in=[BROADCASTING, SUBMITTED]), name="payments_crypto_open"),
            models.Index(
                fields=["expires_at"], condition=Q(status=AWAITING_SIGNATURE), name="payments_crypto_unsigned"
            ),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="payments_crypto_status_known"),
            models.CheckConstraint(condition=Q(amount_usdc__gte=0), name="payments_crypto_amount"),
            models.CheckConstraint(
                condition=Q(status__in=[AWAITING_SIGNATURE, "expired"]) | Q(tx_hash__isnull=False),
                name="payments_crypto_hash_once_signed",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    def check_transition(self, to: str, actor: Actor) -> None:  # noqa: ARG002  the caller has checked the owner
        if to not in MACHINE.moves_from(self.status):
            raise ValueError(f"Can't change a crypto payment from {self.status} to {to}.")

    def lost_race(self, to: str) -> Exception:  # noqa: ARG002
        """Return LostRace and leave the instance unchanged, because the caller then queries the network."""
        return LostRace()

    def derived_columns(self, transition: Transition) -> dict[str, Any]:
        if transition.to == SUBMITTED:
            return {"submitted_at": transition.now}
        if transition.to in {CONFIRMED, FAILED}:
            return {"settled_at": transition.now, "failure": transition.reason if transition.to == FAILED else None}
        return {}

    def record_transition(self, row: "CryptoPaymentHistory") -> None:
        if row.status in EMITTED:
            record_crypto_event(row.status, self, now=row.changed_at)


class CryptoTransaction(models.Model):
    """A signed transaction that was sent for a payment. It belongs to this payment permanently. Append-only.

    While the nonce is unused, third parties can send the transaction, even after a node rejected it. So the code looks
    up all transactions of a payment before the payment fails or expires.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    payment = models.ForeignKey(CryptoPayment, on_delete=models.PROTECT, related_name="transactions")
    tx_hash = models.CharField(max_length=66, unique=True)
    nonce = models.BigIntegerField()
    raw = models.TextField(help_text="The signed transaction, as it is public on the chain.")
    given_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.tx_hash


class CryptoPaymentHistory(StatusHistory):
    payment = models.ForeignKey(CryptoPayment, on_delete=models.PROTECT, related_name="history", db_index=False)

    class Meta(StatusHistory.Meta):
        verbose_name_plural = "crypto payment history"
        constraints = [models.UniqueConstraint(fields=["payment", "position"], name="payments_crypto_history_position")]


def record_crypto_event(verb: str, payment: CryptoPayment, *, now: datetime) -> None:
    record_event(
        f"payment.crypto.{verb}",
        account_id=payment.user_id,
        now=now,
        payment_id=str(payment.pk),
        status=payment.status,
        network=payment.network,
        tx_hash=payment.tx_hash,
        simulated=payment.simulated,
    )
