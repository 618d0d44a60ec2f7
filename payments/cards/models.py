from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from config.core.encryption import PLACELESS, EncryptedTextField
from config.core.ids import uuid7
from config.core.json_text import JsonTextField

PENDING, PROCESSING, UNKNOWN, COMPLETED, FAILED = "Pending", "Processing", "Unknown", "Completed", "Failed"
OPEN = (PENDING, PROCESSING, UNKNOWN)
STATUSES = (*OPEN, COMPLETED, FAILED)
PATIENCE_MAX = timedelta(minutes=5)  # the maximum interval between two queries for an unknown outcome


class Payment(models.Model):
    """A card payment. Amounts are in cents. The row is committed before the request to the processor.

    The process that works on a payment has the payment's lease. `epoch` increases with each takeover, and a process
    with an earlier epoch can't change the payment (`services.finish`). `due_at` is the end of the lease. For an unknown
    outcome, `due_at` is the time of the next query.

    The model is not a `StatefulModel`, because `epoch` also resolves races between attempts that don't change the
    status. The history is in `PaymentAttempt`.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="payments")
    amount_cents = models.BigIntegerField(help_text="The amount, in the currency's minor unit.")
    fee_amount_cents = models.BigIntegerField(help_text="The fee, in the currency's minor unit.")
    currency = models.CharField(
        max_length=3, help_text="The ISO 4217 code of the currency in lower case, such as `usd`."
    )
    payment_method_id = models.CharField(max_length=255)
    description = models.TextField(null=True)  # noqa: DJ001  the API returns null
    provider_account_id = models.CharField(max_length=255, null=True)  # noqa: DJ001
    processor = models.CharField(max_length=16)
    processor_key = models.CharField(max_length=80, unique=True, help_text="The processor's id of the charge.")
    method_token = EncryptedTextField(help_text="The token that the processor charges.")
    idempotency_key = models.UUIDField(null=True)
    status = models.CharField(
        max_length=16,
        choices=[(status, status) for status in STATUSES],
        default=PENDING,
        help_text="The status of the payment; `Unknown` while the result of the charge is not known.",
    )
    transaction_id = models.CharField(  # noqa: DJ001
        max_length=255, null=True, help_text="The processor's id of the charge; null until the payment is completed."
    )
    failure = models.CharField(  # noqa: DJ001
        max_length=64,
        null=True,
        help_text="The processor's reason for the failure, such as `card_declined`. The value is `not_charged` if the "
        "processor has no charge. Null unless the payment failed.",
    )
    refunded_cents = models.BigIntegerField(
        default=0, db_default=0, help_text="The refunded part of the amount, in the currency's minor unit."
    )
    disputed = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether the payer disputes the payment at their bank, or has won the dispute.",
    )
    epoch = models.PositiveIntegerField(default=1)
    due_at = models.DateTimeField()
    server_errors = models.PositiveSmallIntegerField(
        default=0, help_text="The number of 5xx responses of the processor."
    )
    unanswered_since = models.DateTimeField(null=True, help_text="When a request to the processor got no response.")
    created_at = models.DateTimeField(help_text="When the payment was created (UTC).")
    processed_at = models.DateTimeField(
        null=True, help_text="When the payment was completed or failed (UTC); null before then."
    )

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status__in=OPEN), name="payments_payment_due"),
            models.Index(fields=["user", "-id"], name="payments_payment_user"),
            models.Index(fields=["transaction_id"], name="payments_payment_transaction"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(amount_cents__gt=0), name="payments_payment_positive"),
            models.CheckConstraint(
                condition=~Q(status=COMPLETED) | Q(transaction_id__isnull=False), name="payments_completed_has_charge"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.amount_cents} {self.currency}"

    def save(self, *args: Any, **options: Any) -> None:
        """Save the payment.

        The encryption of `method_token` uses the row's ID, so the token is written after the INSERT.
        """
        assigned: int | None = self.pk
        if assigned is not None:
            super().save(*args, **options)
            return
        token, self.method_token = self.method_token, PLACELESS
        try:
            with transaction.atomic(using=options.get("using")):
                super().save(*args, **options)
                self.method_token = token
                super().save(using=options.get("using"), update_fields=["method_token"])
        finally:
            self.method_token = token

    def is_held(self, now: datetime) -> bool:
        """Return whether a process has the lease, or the next query about an unknown outcome is not due yet."""
        return self.due_at > now

    @property
    def net_amount_cents(self) -> int:
        return self.amount_cents - self.fee_amount_cents

    @property
    def is_open(self) -> bool:
        return self.status in OPEN


class PaymentAttempt(models.Model):
    """A request to the processor, a response, or an event from the processor. Contains no secrets. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="attempts")
    epoch = models.PositiveIntegerField()
    action = models.CharField(max_length=32, help_text="charge, look-up, cancel, event")
    outcome = models.CharField(max_length=32, help_text="sent, succeeded, declined, unknown, absent")
    detail = JsonTextField(null=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.action}: {self.outcome}"


class ProcessorEvent(models.Model):
    """A processor's event. The row ensures that the event is applied only once.

    It also stores an event that arrives before its payment.
    """

    id = models.CharField(primary_key=True, max_length=255)
    type = models.CharField(max_length=128)
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="events")
    detail = JsonTextField()
    received_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-received_at"]

    def __str__(self) -> str:
        return self.type


class SandboxCharge(models.Model):
    key = models.CharField(primary_key=True, max_length=80)
    payment_id = models.BigIntegerField(db_index=True)
    transaction_id = models.CharField(max_length=64)
    amount_cents = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.transaction_id


class PaymentMethod(models.Model):
    """A stored payment method (`PAYMENT_METHODS=persistent`). It contains a token, never a card number."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The method's id.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="payment_methods",
        help_text="The account that the method belongs to.",
    )
    processor_type = models.CharField(max_length=16, help_text="The kind of the processor.")
    account_token = EncryptedTextField()
    account_hint = models.CharField(
        max_length=16, help_text="The last characters, by which a person recognizes the method."
    )
    is_default = models.BooleanField(default=False, help_text="Whether this is the account's default method.")
    is_active = models.BooleanField(default=True, help_text="Whether the method can be charged.")
    created_at = models.DateTimeField(help_text="When the method was added (UTC).")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["user"], condition=Q(is_default=True), name="payments_one_default_method")
        ]

    def __str__(self) -> str:
        return f"{self.processor_type} {self.account_hint}"


def lease_ends(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.PAYMENT_LEASE_SECONDS)
