"""Accounts and their credentials."""

import unicodedata
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Lower
from django.utils import timezone
from oauth2_provider.models import AbstractApplication

from config.core import audit
from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.core.lifecycle import Actor, audit_actor
from config.mail.addresses import comparable
from identity.access.consents import Consent


class NamedUserManager(UserManager["User"]):
    """Finds accounts by user name, case-insensitively."""

    use_in_migrations = False

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        """Normalize the address of an account that an operator creates."""
        return comparable(email or "")

    def named(self, username: str) -> QuerySet["User"]:
        return self.filter(username__lower=Lower(Value(username)))

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the account with this user name. Raises User.DoesNotExist."""
        return self.named(username or "").get()


class User(AbstractUser):
    """An account of a user or a system. The API's `user_id` is the account's id in decimal."""

    # Tokens that were issued before this time are invalid.
    credentials_changed_at = models.DateTimeField(default=timezone.now, editable=False)
    wants_mail = models.BooleanField(
        default=True, help_text="Whether to send mail when an application requires an action."
    )
    language = models.CharField(  # noqa: DJ001  null, because a new column with a default rewrites the table of SQLite
        max_length=2,
        null=True,
        editable=False,
        help_text="The language of the account's pages and mails. Null until the user chooses it.",
    )
    erased_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When the account's data were erased, except for rows that a law requires (UTC).",
    )

    objects: ClassVar[NamedUserManager] = NamedUserManager()

    class Meta(AbstractUser.Meta):
        # A password reset looks up the account by its address.
        indexes = [models.Index(fields=["email"], name="identity_user_email")]
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="identity_user_name",
                violation_error_message="An account with this user name exists. Upper and lower case are the same.",
            )
        ]

    def set_password(self, raw_password: str | None) -> None:
        """Set the password, normalized to NFKC. Saving the account ends all earlier tokens."""
        super().set_password(None if raw_password is None else unicodedata.normalize("NFKC", raw_password))
        now = timezone.now()
        last = TokenFamily.objects.filter(user_id=self.pk).order_by("-created_at").first() if self.pk else None
        # Log-ins with the old password must end, even if the machine's clock was set back.
        self.credentials_changed_at = now if last is None else max(now, last.created_at + timedelta(microseconds=1))

    def check_password(self, raw_password: str | None) -> bool:
        """Check the password.

        Version 1.0 hashed passwords without normalization. The second check accepts these hashes.
        """
        if raw_password is None:
            return False
        forms = dict.fromkeys((unicodedata.normalize("NFKC", raw_password), raw_password))
        return any(super(User, self).check_password(form) for form in forms)


User._meta.get_field("username").register_lookup(Lower)


class SigningKey(models.Model):
    """An ES256 key pair for access tokens. It verifies tokens until `retires_at`."""

    kid = models.CharField(primary_key=True, max_length=32)
    private_key = EncryptedTextField(help_text="PKCS #8 in PEM.")
    public_jwk = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    signs_from = models.DateTimeField(
        help_text="When the key starts to sign (UTC). It is published earlier, so that every verifier has it by then."
    )
    retires_at = models.DateTimeField(
        null=True, blank=True, help_text="Tokens signed with it are rejected from then on."
    )

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.kid


def is_loopback(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}


class OAuthClient(AbstractApplication):  # type: ignore[misc]
    """A third party's app that users can authorize, and the scopes that the app can request."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    scopes = models.JSONField(default=list, help_text="The scopes that the client can request.")
    name_key = models.CharField(  # noqa: DJ001  null for the later of two similar names of version 1.0
        max_length=64, null=True, unique=True, editable=False
    )

    plain_secret: str | None = None  # set only at the creation; a public client has no secret

    class Meta(AbstractApplication.Meta):  # type: ignore[misc]
        verbose_name = "OAuth client"

    @property
    def addresses(self) -> list[str]:
        return str(self.redirect_uris).split()

    def redirect_uri_allowed(self, uri: str) -> bool:
        """Check whether `uri` equals a registered URI. A loopback URI may have any port (RFC 8252, section 7.3)."""
        return uri in self.addresses or (is_loopback(uri) and bool(super().redirect_uri_allowed(uri)))

    @property
    def is_public(self) -> bool:
        return bool(self.client_type == self.CLIENT_PUBLIC)


class TokenFamilyQuerySet(models.QuerySet["TokenFamily"]):
    def revoke(self, *, now: datetime) -> None:
        live = self.filter(revoked_at__isnull=True)
        Consent.objects.filter(reference__in=live.filter(client__isnull=False).values("pk")).end(now=now)
        live.update(revoked_at=now)


class TokenFamily(models.Model):
    """All tokens of a log-in, or of a consent to a client. A revocation of the family ends all of its tokens.

    `code_sha256` is the hash of the authorization code that created the family. A code creates at most one family.
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
    second_factor = models.BooleanField(default=False, help_text="Whether the log-in used a second factor.")
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(
        null=True, blank=True, help_text="The end of the page session in which the log-in began."
    )

    objects = TokenFamilyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "token families"

    def __str__(self) -> str:
        return str(self.id)


class RefreshToken(models.Model):
    """A refresh token, stored as its SHA-256 and valid for one use."""

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
            revoked_at__isnull=True,
            expires_at__gt=moment,
            owner__is_active=True,
            collect_grace_days__isnull=True,
            suspended_at__isnull=True,
        )


class ApiKey(models.Model):
    """An API key, stored as SHA-256, and its encrypted HMAC secret. The key and the secret are displayed once."""

    id = models.CharField(primary_key=True, max_length=12, help_text="The key's public id.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_keys")
    name = models.CharField(max_length=255, help_text="The purpose of the key, in its owner's words.")
    name_key = models.CharField(  # noqa: DJ001  null for an ended or rotated key, or the later of two
        max_length=64, null=True, unique=True, editable=False
    )
    digest = models.CharField(max_length=64)
    secret = EncryptedTextField()
    scopes = models.JSONField(null=True, blank=True, help_text="The scopes of the key; null for an unrestricted key.")
    created_at = models.DateTimeField(help_text="When the key was created (UTC).")
    expires_at = models.DateTimeField(help_text="When the key expires (UTC).")
    revoked_at = models.DateTimeField(
        null=True, blank=True, help_text="When the key was revoked (UTC); null if it is not revoked."
    )
    suspended_at = models.DateTimeField(
        null=True, blank=True, help_text="When a password reset by mail suspended it; null after confirmation."
    )
    second_factor = models.BooleanField(
        null=True, help_text="Whether it was created in a log-in with a second factor; null for keys of version 1.0."
    )
    last_used_at = models.DateTimeField(
        null=True, blank=True, help_text="When the key was last used (UTC), to the minute; null when it never was."
    )
    expiry_announced_at = models.DateTimeField(null=True, blank=True, help_text="When `api_key.expiring` was sent.")
    replaces = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="replaced_by",
        help_text="The id of the key that this key replaces; null if it replaces none.",
    )
    collect_grace_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="If not null, the owner must collect the key. The previous key then works for this number of days.",
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
        """Return a part of the key's hash, by which the owner can recognize the key."""
        return f"{self.digest[:8]}…{self.digest[-8:]}"

    @property
    def state(self) -> str:
        return self.state_at(timezone.now())

    def state_at(self, moment: datetime) -> str:
        if self.revoked_at is not None and self.revoked_at <= moment:
            return "revoked"
        if moment >= self.expires_at:
            return "expired"
        if self.suspended_at is not None:
            return "suspended"
        return "active" if self.collect_grace_days is None else "to_collect"


class UsedSignature(models.Model):
    """An accepted signature of an unsafe request.

    The API accepts the signature again only with the same `idempotency_key`.

    `idempotency_key` is null if the request had no key, or if the operation doesn't support keys.
    """

    digest = models.CharField(primary_key=True, max_length=64)
    idempotency_key = models.UUIDField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.digest


class AccountHistory(models.Model):
    """A change of an account's keys, clients, invitations, or partners, by `principal` with `credential`.

    If a partner acts on behalf of a customer, `account` is the customer, and `principal` is the partner.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="account_history", db_index=False
    )
    principal = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    credential = models.CharField(max_length=80)
    action = models.CharField(max_length=64)
    object_id = models.CharField(
        max_length=255, blank=True, default="", help_text="The id of the key, client or invitation."
    )
    details: Any = JsonTextField(null=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "account history"
        ordering = ["-id"]
        indexes = [models.Index(fields=["account", "-id"], name="identity_account_history")]

    def __str__(self) -> str:
        return f"{self.action} {self.object_id}".strip()

    @classmethod
    def note(
        cls,
        action: str,
        actor: Actor,
        *,
        now: datetime,
        account_id: int | None = None,
        object_id: Any = "",
        details: Any = None,
    ) -> None:
        """Write an entry about an account (by default, the actor's own) in the transaction of the change."""
        account_id = actor.user.pk if account_id is None else account_id
        kind = action.partition(".")[0]
        audit.emit(
            action,
            actor=audit_actor(actor),
            entity=audit.entity("identity.user", account_id) if object_id == "" else audit.entity(kind, object_id),
            unmapped={"account": account_id},
        )
        cls.objects.create(
            account_id=account_id,
            principal=actor.user,
            credential=actor.credential,
            action=action,
            object_id=str(object_id),
            details=details,
            at=now,
        )
