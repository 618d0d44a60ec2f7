from collections.abc import Iterable
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Case, Count, Q, Sum, Value, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact, LessThanOrEqual

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7
from config.core.names import skeleton

BOOKINGS_DAYS = 90  # a new link stages the transactions of this number of days before the link
# Accounts of these types are liabilities.
DEBTS = ("credit", "loan")


def sum_if_known(cents: str) -> Case:
    """Return an aggregate for the sum of a column. The sum is null if a value is null, or if the currencies differ."""
    has_all = Exact(Count("pk"), Count(cents))
    is_one_currency = LessThanOrEqual(Count(Coalesce("currency", Value("")), distinct=True), 1)
    return Case(When(Q(has_all, is_one_currency), then=Sum(cents)))


class ApprovedQuerySet(models.QuerySet[Any]):
    """Data that the account's owner approved. A bank reported the data, or an API client sent them without proof."""

    def reported_by_provider(self) -> Self:
        return self.filter(from_provider=True)

    def claimed(self) -> Self:
        return self.filter(from_provider=False)


class BankAccountQuerySet(ApprovedQuerySet):
    def owned(self) -> Self:
        return self.exclude(type__in=DEBTS)

    def owed(self) -> Self:
        return self.filter(type__in=DEBTS)


class BankItemQuerySet(models.QuerySet["BankItem"]):
    def linked(self) -> Self:
        """Exclude items that the owner has unlinked. The vendor may not have removed these items yet."""
        return self.filter(unlinked_at__isnull=True)


class BankItem(models.Model):
    """A log-in of an account's owner at a bank."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bank_items", db_index=False
    )
    provider = models.CharField(max_length=32)
    item_id = models.CharField(max_length=255, help_text="The item's id at the vendor.")
    institution_name = models.CharField(  # noqa: DJ001
        max_length=255, null=True, help_text="The bank's name; null until the vendor returns it."
    )
    access_token = EncryptedTextField()
    token_fingerprint = models.CharField(max_length=64, unique=True)
    needs_login = models.BooleanField(default=False, help_text="Whether the bank requires a new log-in.")
    accounts_staged_at = models.DateTimeField(null=True)
    transactions_since = models.DateField(
        null=True,
        help_text=f"The first of the {BOOKINGS_DAYS} days of transactions that were staged; null before then.",
    )
    transactions_staged = models.PositiveIntegerField(default=0, help_text="How many transactions were staged then.")
    gone_at = models.DateTimeField(
        null=True, help_text="When the vendor first reported the item as permanently removed."
    )
    unlinked_at = models.DateTimeField(
        null=True, help_text="When the person unlinked the item. The row ends once the vendor has removed it."
    )
    linked_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = BankItemQuerySet.as_manager()

    class Meta:
        verbose_name = "bank item"
        ordering = ["id"]
        indexes = [models.Index(fields=["user", "id"], name="identity_bank_item_user")]
        constraints = [models.UniqueConstraint(fields=["provider", "item_id"], name="identity_bank_item_reference")]

    def __str__(self) -> str:
        return self.item_id

    @property
    def fingerprint(self) -> str:
        """Return a part of the token's hash, so that staff can recognize the token."""
        return f"{self.token_fingerprint[:8]}…{self.token_fingerprint[-8:]}"


class BankAccount(models.Model):
    """A bank account that its owner approved. Amounts are in cents, as of the time at which the account was staged."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bank_accounts", db_index=False
    )
    account_id = models.CharField(max_length=255)
    item_id = models.CharField(max_length=255, null=True)  # noqa: DJ001
    name = models.CharField(max_length=255)
    official_name = models.CharField(max_length=255, null=True)  # noqa: DJ001
    mask = models.CharField(max_length=16, null=True)  # noqa: DJ001
    type = models.CharField(max_length=64)
    subtype = models.CharField(max_length=64, null=True)  # noqa: DJ001
    currency = models.CharField(max_length=16, null=True)  # noqa: DJ001
    available_cents = models.BigIntegerField(null=True)
    current_cents = models.BigIntegerField(null=True)
    limit_cents = models.BigIntegerField(null=True)
    institution_id = models.CharField(max_length=64, null=True, help_text="The bank's id at the vendor.")  # noqa: DJ001
    persistent_account_id = models.CharField(  # noqa: DJ001
        max_length=255, null=True, help_text="The account's id at the vendor; the same when it is linked again."
    )
    balance_on = models.DateField(null=True, help_text="The day on which the balance was read at the bank (UTC).")
    from_provider = models.BooleanField(
        default=False, help_text="Staged by the platform from the bank's data, not by a client."
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = BankAccountQuerySet.as_manager()

    class Meta:
        verbose_name = "bank account"
        constraints = [models.UniqueConstraint(fields=["user", "account_id"], name="identity_bank_account_once")]

    def __str__(self) -> str:
        return f"{self.name} ··{self.mask}" if self.mask else self.name

    def is_same_as(self, other: "BankAccount") -> bool:
        """Return whether both rows are the same bank account, linked twice."""
        if self.persistent_account_id and other.persistent_account_id:
            return self.persistent_account_id == other.persistent_account_id
        return self.bank_identity is not None and self.bank_identity == other.bank_identity

    @property
    def bank_identity(self) -> tuple[str | None, ...] | None:
        """Return the fields that identify the account at its bank. Returns None if the bank or the mask is unknown.

        Two links of the same account may spell its name with different capitals, spaces, or code points.
        """
        if not (self.institution_id and self.mask):
            return None
        return (self.institution_id, self.mask, skeleton(self.name), self.type, self.subtype, self.currency)


def linked_again(accounts: Iterable[BankAccount]) -> dict[UUID, UUID]:
    """Map the ID of each duplicate account to the ID of the same bank account earlier in `accounts`."""
    kept: dict[Any, BankAccount] = {}
    again: dict[UUID, UUID] = {}
    for account in accounts:
        names = (account.persistent_account_id, account.bank_identity)
        same = next((kept[name] for name in names if name in kept and kept[name].is_same_as(account)), None)
        if same is not None:
            again[account.pk] = same.pk
            continue
        kept |= {name: account for name in names if name is not None and name not in kept}
    return again


class BankTransaction(models.Model):
    """A bank transaction that the owner approved. `amount_cents` is positive for outgoing money."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bank_transactions", db_index=False
    )
    transaction_id = models.CharField(max_length=255)
    account_id = models.CharField(max_length=255)
    item_id = models.CharField(max_length=255, null=True)  # noqa: DJ001
    amount_cents = models.BigIntegerField()
    currency = models.CharField(max_length=16, null=True)  # noqa: DJ001
    date = models.DateField()
    name = models.CharField(max_length=255)
    merchant_name = models.CharField(max_length=255, null=True)  # noqa: DJ001
    category = models.CharField(max_length=255, null=True)  # noqa: DJ001
    pending = models.BooleanField(default=False)
    from_provider = models.BooleanField(
        default=False, help_text="Staged by the platform from the bank's data, not by a client."
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = ApprovedQuerySet.as_manager()

    class Meta:
        verbose_name = "bank transaction"
        indexes = [models.Index(fields=["user", "-date"], name="identity_bank_tx_user_date")]
        constraints = [models.UniqueConstraint(fields=["user", "transaction_id"], name="identity_bank_tx_once")]

    def __str__(self) -> str:
        return self.transaction_id
