from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.core.leases import due, is_due

PENDING, PROCESSING, UNKNOWN, COMPLETED, FAILED = "Pending", "Processing", "Unknown", "Completed", "Failed"
OPEN = (PENDING, PROCESSING, UNKNOWN)
STATUSES = (*OPEN, COMPLETED, FAILED)
PATIENCE_MAX = timedelta(minutes=5)  # the longest that an unknown outcome rests


class Payment(models.Model):
    """One card payment. Amounts are cents; the row stands before the processor hears of it.

    The process that works on a payment holds its lease: `epoch` counts the holders, and a holder whose epoch is over
    can write nothing (`services.finish`). `due_at` is the end of the lease, or the time of the next query about an
    unknown outcome.

    It is not a `StatefulModel`: `epoch` already decides every race, also between two tries that leave the status as it
    is, and `PaymentAttempt` tells the story, of which the statuses are only the outcome.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="payments")
    amount_cents = models.BigIntegerField()
    fee_amount_cents = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    payment_method_id = models.CharField(max_length=255)
    description = models.TextField(null=True)  # noqa: DJ001  null is an answer of the interface
    provider_account_id = models.CharField(max_length=255, null=True)  # noqa: DJ001
    processor = models.CharField(max_length=16)
    processor_key = models.CharField(max_length=80, unique=True, help_text="The processor's id of the charge.")
    method_token = EncryptedTextField(help_text="The amount that the processor charges.")
    idempotency_key = models.UUIDField(null=True)
    status = models.CharField(max_length=16, choices=[(status, status) for status in STATUSES], default=PENDING)
    transaction_id = models.CharField(max_length=255, null=True)  # noqa: DJ001
    failure = models.CharField(max_length=64, null=True)  # noqa: DJ001
    epoch = models.PositiveIntegerField(default=1)
    due_at = models.DateTimeField()
    server_errors = models.PositiveSmallIntegerField(default=0, help_text="How often the processor answered with 5xx.")
    unanswered_since = models.DateTimeField(null=True, help_text="When the processor was asked and did not answer.")
    created_at = models.DateTimeField()
    processed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status__in=OPEN), name="payments_payment_due"),
            models.Index(fields=["user", "-id"], name="payments_payment_user"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(amount_cents__gt=0), name="payments_payment_positive"),
            models.CheckConstraint(
                condition=~Q(status=COMPLETED) | Q(transaction_id__isnull=False), name="payments_completed_has_charge"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.amount_cents} {self.currency}"

    def is_held(self, now: datetime) -> bool:
        """Return whether a process holds the lease, or an unknown outcome rests."""
        return not is_due(self.due_at, now=now, within=_due_ahead_max())

    @property
    def net_amount_cents(self) -> int:
        return self.amount_cents - self.fee_amount_cents

    @property
    def is_open(self) -> bool:
        return self.status in OPEN


class PaymentAttempt(models.Model):
    """Something said to the processor, or by it, without secrets. Append-only."""

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
    """An event that a processor sent by itself; kept so that it works once, and until its payment is there."""

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
    """A way to pay that a person keeps here (`PAYMENT_METHODS=persistent`): a token, never a card number."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="payment_methods")
    processor_type = models.CharField(max_length=16)
    account_token = EncryptedTextField()
    account_hint = models.CharField(max_length=16, help_text="The last characters, for a person to know it by.")
    is_default = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["user"], condition=Q(is_default=True), name="payments_one_default_method")
        ]

    def __str__(self) -> str:
        return f"{self.processor_type} {self.account_hint}"


def lease_ends(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.PAYMENT_LEASE_SECONDS)


def _due_ahead_max() -> timedelta:
    """Return how far ahead `due_at` can be: what is due later was written by a clock that has been set back since."""
    return max(timedelta(seconds=settings.PAYMENT_LEASE_SECONDS), PATIENCE_MAX)


def nobody_holds(now: datetime) -> Q:
    """Select payments that any process may take over; `Payment.is_held` checks one."""
    return due("due_at", now=now, within=_due_ahead_max())
