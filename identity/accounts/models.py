from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def waiting_at(self, moment: datetime) -> "InvitationQuerySet":
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=moment)


class Invitation(models.Model):
    """A link that was mailed to `email`: the owner of the address gets the role, once, until `expires_at`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The invitation's id.")
    email = EncryptedTextField(help_text="The address that the invitation was sent to.")
    role = models.CharField(max_length=32, help_text="The role that the invitation grants.")
    provider_id = models.CharField(
        max_length=255, blank=True, default="", help_text="The lender that a `member` acts for; empty for other roles."
    )
    group = models.CharField(
        max_length=150, blank=True, default="", help_text="The group of `staff`; empty for other roles."
    )
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="invitations", db_index=False
    )
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(help_text="When the invitation was created (UTC).")
    expires_at = models.DateTimeField(help_text="When the invitation expires (UTC).")
    accepted_at = models.DateTimeField(
        null=True, blank=True, help_text="When the invitation was accepted (UTC); null before."
    )
    revoked_at = models.DateTimeField(
        null=True, blank=True, help_text="When the invitation was revoked (UTC); null when it was not."
    )

    objects = InvitationQuerySet.as_manager()
    VALID_FOR = timedelta(days=7)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["invited_by", "-id"], name="identity_invitation_by")]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def state(self) -> str:
        if self.accepted_at is not None:
            return "accepted"
        if self.revoked_at is not None:
            return "revoked"
        return "waiting" if timezone.now() < self.expires_at else "expired"


class ManagedAccount(models.Model):
    """An account that a partner made for a customer, and may act for until the access ends.

    `email` and `name` are what the partner said; they are forgotten when the person claims the account, or when the
    partner's access ends.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.PROTECT)
    partner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="managed_accounts",
        db_index=False,
        help_text="The partner that created the account.",
    )
    external_id = models.CharField(max_length=255, help_text="The partner's own id of the customer.")
    email = EncryptedTextField(null=True, blank=True)
    name = EncryptedTextField(null=True, blank=True)
    claimed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the customer claimed the account (UTC); null before."
    )
    ended_at = models.DateTimeField(null=True, blank=True, help_text="Since when the partner may not act any more.")
    created_at = models.DateTimeField(help_text="When the account was created (UTC).")

    class Meta:
        ordering = ["-user_id"]
        constraints = [
            models.UniqueConstraint(fields=["partner", "external_id"], name="identity_managed_external_id"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class OneTimeLinkQuerySet(models.QuerySet["OneTimeLink"]):
    def usable_at(self, moment: datetime) -> "OneTimeLinkQuerySet":
        return self.filter(used_at__isnull=True, expires_at__gt=moment)


class OneTimeLink(models.Model):
    """A link that was mailed, kept as the SHA-256 of its token."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    digest = models.CharField(max_length=64, unique=True)
    purpose = models.CharField(max_length=32)
    subject = models.CharField(max_length=64, blank=True, default="", help_text="The id of what it is about.")
    email = EncryptedTextField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)

    objects = OneTimeLinkQuerySet.as_manager()

    class Meta:
        verbose_name = "one-time link"
        indexes = [models.Index(fields=["purpose", "subject"], name="identity_link_subject")]

    def __str__(self) -> str:
        return f"{self.purpose} {self.id}"


class RecoveryCode(models.Model):
    """A code to log in with when app and passkeys are lost, kept as its hash. Using it deletes it.

    All codes of an account have the same salt, so that one hash is enough to check a code against all of them.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes", db_index=False
    )
    hash = models.CharField(max_length=255, help_text="As `RecoveryCodeHasher` encodes it.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "hash"], name="identity_recovery_code")]

    def __str__(self) -> str:
        return str(self.pk)


class DeletionRequest(models.Model):
    """A request to delete an account. It was disabled in the same moment."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.user_id)
