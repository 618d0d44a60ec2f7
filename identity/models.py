from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.utils import timezone
from oauth2_provider.models import AbstractApplication

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7

# Django finds an app's tables through this module; the packages have models of their own.
from identity.accounts.models import (
    AccountHistory,
    DeletionRequest,
    Invitation,
    ManagedAccount,
    OneTimeLink,
    RecoveryCode,
)
from identity.bank.models import BankAccount, BankItem, BankTransaction
from identity.kyc.models import KycVerification, KycVerificationHistory
from identity.providers.models import SandboxItem, SandboxVerification

__all__ = [
    "AccountHistory", "ApiKey", "BankAccount", "BankItem", "BankTransaction", "DeletionRequest", "Invitation",
    "KycVerification", "KycVerificationHistory", "ManagedAccount", "OneTimeLink", "RecoveryCode", "RefreshToken",
    "SandboxItem", "SandboxVerification", "SigningKey", "TokenFamily", "UsedSignature", "User",
]  # fmt: skip


class User(AbstractUser):
    """A person or a system with an account. Its id in decimal is the `user_id` of the API."""

    # Tokens that were issued before this moment are invalid.
    credentials_changed_at = models.DateTimeField(default=timezone.now, editable=False)
    wants_mail = models.BooleanField(default=True, help_text="Whether to write when an application needs the person.")

    class Meta(AbstractUser.Meta):
        # A password reset looks up the account by its address.
        indexes = [models.Index(fields=["email"], name="identity_user_email")]

    def set_password(self, raw_password: str | None) -> None:
        """Set the password, in NFKC, and end every token that was issued under the old one (once saved)."""
        super().set_password(raw_password)
        now = timezone.now()
        last = TokenFamily.objects.filter(user_id=self.pk).order_by("-created_at").first() if self.pk else None
        # A clock that was set back must not let a log-in outlive the password that it was made with.
        self.credentials_changed_at = now if last is None else max(now, last.created_at + timedelta(microseconds=1))


class SigningKey(models.Model):
    """An ES256 key pair for access tokens. Each verifies until it retires; `signing_keys` says which one signs."""

    kid = models.CharField(primary_key=True, max_length=32)
    private_key = EncryptedTextField(help_text="PKCS #8 in PEM.")
    public_jwk = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    signs_from = models.DateTimeField(help_text="It is published before, so that every verifier knows it by then.")
    retires_at = models.DateTimeField(
        null=True, blank=True, help_text="Tokens signed with it are refused from then on."
    )

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.kid


class OAuthClient(AbstractApplication):  # type: ignore[misc]
    """A third party's program that people may let act for them, and the scopes it may ask for."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    scopes = models.JSONField(default=list, help_text="Scopes that the client may ask for.")

    plain_secret: str | None = None  # in the one moment in which it is known; a public client has none

    class Meta(AbstractApplication.Meta):  # type: ignore[misc]
        verbose_name = "OAuth client"

    @property
    def addresses(self) -> list[str]:
        return str(self.redirect_uris).split()

    @property
    def is_public(self) -> bool:
        return bool(self.client_type == self.CLIENT_PUBLIC)


class TokenFamilyQuerySet(models.QuerySet["TokenFamily"]):
    def revoke(self, *, now: datetime) -> None:
        self.filter(revoked_at__isnull=True).update(revoked_at=now)


class TokenFamily(models.Model):
    """One log-in, or one consent to a client, and everything refreshed from it; revoking it ends all of its tokens.

    `code_sha256` names the authorization code that it was made from: a code makes one family at most.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="token_families")
    client = models.ForeignKey(OAuthClient, null=True, blank=True, on_delete=models.CASCADE, related_name="families")
    scope = models.TextField(blank=True, default="", help_text="Scopes of a client's family, separated by spaces.")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,
        help_text="The partner that acts for the user with the one token of this family.",
    )
    code_sha256 = models.CharField(max_length=64, null=True, blank=True, unique=True)
    second_factor = models.BooleanField(default=False, help_text="Whether the log-in was made with one.")
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = TokenFamilyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "token families"

    def __str__(self) -> str:
        return str(self.id)


class RefreshToken(models.Model):
    """A refresh token, kept as its SHA-256 and good for one use."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    family = models.ForeignKey(TokenFamily, on_delete=models.CASCADE, related_name="refresh_tokens")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable_at(self, moment: datetime) -> "ApiKeyQuerySet":
        return self.filter(
            revoked_at__isnull=True, expires_at__gt=moment, owner__is_active=True, collect_grace_days__isnull=True
        )


class ApiKey(models.Model):
    """A static key with its HMAC secret. The key is kept as SHA-256, the secret encrypted; both are shown once."""

    id = models.CharField(primary_key=True, max_length=12, help_text="The key's public id.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_keys")
    name = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    secret = EncryptedTextField()
    scopes = models.JSONField(null=True, blank=True, help_text="Null: whatever the owner may do.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expiry_announced_at = models.DateTimeField(null=True, blank=True, help_text="When `api_key.expiring` was sent.")
    replaces = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="replaced_by")
    collect_grace_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="Not null: its owner has to collect it, and the key before it works for so many days after that.",
    )

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=models.F("created_at")), name="identity_api_key_expires_after_creation"
            )
        ]

    def __str__(self) -> str:
        return f"{settings.API_KEY_PREFIX}{self.id}… ({self.name})"

    @property
    def fingerprint(self) -> str:
        """Return what identifies the key to a person without being any use to a thief."""
        return f"{self.digest[:8]}…{self.digest[-8:]}"

    @property
    def state(self) -> str:
        return self.state_at(timezone.now())

    def state_at(self, moment: datetime) -> str:
        if self.revoked_at is not None and self.revoked_at <= moment:
            return "revoked"
        if moment >= self.expires_at:
            return "expired"
        return "active" if self.collect_grace_days is None else "to_collect"


class UsedSignature(models.Model):
    """A request signature that was accepted on an unsafe method: again it is accepted with its `idempotency_key` only.

    The key is null where none came with it, or where the operation honours none.
    """

    digest = models.CharField(primary_key=True, max_length=64)
    idempotency_key = models.UUIDField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.digest
