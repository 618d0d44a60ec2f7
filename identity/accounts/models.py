from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def waiting_at(self, moment: datetime) -> "InvitationQuerySet":
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=moment)


class Invitation(models.Model):
    """An invitation, which is mailed as a link. The owner of `email` can accept the role once, before `expires_at`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The invitation's id.")
    email = EncryptedTextField(help_text="The address that the invitation was sent to.")
    role = models.CharField(max_length=32, help_text="The role that the invitation grants.")
    provider_id = models.CharField(
        max_length=255,
        blank=True,
        default="",
        help_text="The id of the lender if the role is `owner`, `reviewer`, `reader`, or `member`. Empty for other "
        "roles.",
    )
    group = models.CharField(
        max_length=150,
        blank=True,
        default="",
        help_text="The group that an account with the role `staff` joins. Empty for other roles.",
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
        null=True, blank=True, help_text="When the invitation was accepted (UTC); null before then."
    )
    revoked_at = models.DateTimeField(
        null=True, blank=True, help_text="When the invitation was revoked (UTC); null when it was not."
    )

    organization = ""  # the name of the lender that invites, which the role's check sets
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
    """An account that a partner created for a customer. The partner can act on its behalf until the access ends.

    `email` and `name` are the partner's values, which are deleted when the customer claims the account or access ends.
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
        null=True, blank=True, help_text="When the customer claimed the account (UTC); null before then."
    )
    ended_at = models.DateTimeField(
        null=True, blank=True, help_text="When the partner's access ended (UTC); null while the partner has access."
    )
    created_at = models.DateTimeField(help_text="When the account was created (UTC).")

    class Meta:
        ordering = ["-user_id"]
        constraints = [models.UniqueConstraint(fields=["partner", "external_id"], name="identity_managed_external_id")]

    def __str__(self) -> str:
        return str(self.pk)


class OneTimeLinkQuerySet(models.QuerySet["OneTimeLink"]):
    def usable_at(self, moment: datetime) -> "OneTimeLinkQuerySet":
        return self.filter(used_at__isnull=True, expires_at__gt=moment)


class OneTimeLink(models.Model):
    """A mailed link, stored as the SHA-256 of its token."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    digest = models.CharField(max_length=64, unique=True)
    purpose = models.CharField(max_length=32)
    subject = models.CharField(max_length=64, blank=True, default="", help_text="The id of the changed object.")
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
    """A hashed code that replaces a lost authenticator or passkey at a log-in. Using the code deletes it.

    All codes of an account have the same salt, so one hash checks a code against all of them.
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
    """A deletion request that a server of version 1.0 stored during an upgrade. `process_privacy` converts it."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.user_id)


class Export(models.Model):
    """A copy of an account's data. The zip in the document storage is encrypted with `key`, and lasts for 7 days."""

    PREPARING, READY, EXPIRED, FAILED = STATUSES = ("preparing", "ready", "expired", "failed")
    LASTS = timedelta(days=7)
    AGAIN_AFTER = timedelta(days=1)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The export's id.")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="exports", db_index=False
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    status = models.CharField(
        max_length=16,
        choices=[(status, status) for status in STATUSES],
        default=PREPARING,
        help_text="The status of the export. `preparing`: a worker writes the zip. `ready`: it can be downloaded. "
        "`expired`: it is deleted. `failed`: request it again.",
    )
    key = EncryptedTextField(default="", editable=False)
    name = models.CharField(max_length=100, null=True, editable=False)  # noqa: DJ001  null until a worker claims the row
    claimed_until = models.DateTimeField(null=True, editable=False)
    language = models.CharField(max_length=2, default="en", db_default="en", editable=False)
    created_at = models.DateTimeField(help_text="When the export was requested (UTC).")
    ready_at = models.DateTimeField(null=True, help_text="When the zip was ready (UTC); null before then.")
    expires_at = models.DateTimeField(null=True, help_text="When the zip is deleted (UTC); null before it is ready.")

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["account", "-id"], name="identity_export_newest"),
            models.Index(
                fields=["status", "id"],
                condition=models.Q(status__in=("preparing", "ready")),
                name="identity_export_due",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=("preparing", "ready", "expired", "failed")),
                name="identity_export_status_known",
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)

    def as_of(self, now: datetime) -> Self:
        """Return the export with the status at `now`. An export expires before the worker deletes its file."""
        if self.status == self.READY and self.expires_at is not None and self.expires_at <= now:
            self.status = self.EXPIRED
        return self

    @property
    def download_url(self) -> str | None:
        if self.status != self.READY:
            return None
        is_own = self.requested_by_id == self.account_id
        owner = "account" if is_own else f"accounts/{self.account_id}"
        return f"{settings.BASE_URL}/{owner}/exports/{self.pk}/file"


class Erasure(models.Model):
    """The erasure of an account (GDPR Article 17). The row contains no personal data, and remains after the erasure.

    `account` is null if the status is `done`. `subject_key` is the keyed hash of the account's id. If the status is
    `waiting`, laws require the retention of some records, and `look_at` is the next day on which a retention ends.
    """

    REQUESTED, WAITING, DONE = STATUSES = ("requested", "waiting", "done")
    NONE = "none"  # the status of an account without an erasure; never stored
    obstacles: Any = ()  # `show_erasure` sets it
    CHANGE_OF_MIND = timedelta(days=14)
    DUE = timedelta(days=30)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The erasure's id.")
    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="erasure"
    )
    subject_key = models.CharField(max_length=64, db_index=True, editable=False)
    status = models.CharField(
        max_length=16,
        choices=[(status, status) for status in STATUSES],
        default=REQUESTED,
        help_text="`requested`: it starts after 14 days. `waiting`: some records are retained until their ground ends. "
        "`done`: the erasure is complete.",
    )
    requested_at = models.DateTimeField(help_text="When the erasure was requested (UTC).")
    look_at = models.DateTimeField(help_text="When the erasure starts, or the next ground ends (UTC).")
    due_at = models.DateTimeField(help_text="The date by which the erasure must be complete (UTC).")
    kept: Any = models.JSONField(
        default=list, help_text="The retained rows of each ground, and the day on which the last row is erased."
    )
    completed_at = models.DateTimeField(null=True, help_text="When the erasure was completed (UTC); null before then.")

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["look_at"], condition=~models.Q(status="done"), name="identity_erasure_due")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=("requested", "waiting", "done")), name="identity_erasure_status_known"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
