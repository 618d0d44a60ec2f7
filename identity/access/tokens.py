"""Issue, validate, rotate, and revoke access and refresh tokens (specification section 5, items 7 to 9).

An access token is a JWT that is signed with ES256. Both services verify it with `config.core.tokens`. Its claim `sid`
is the id of its family. The token becomes invalid within seconds after the family is revoked, the password changes, or
the user is disabled.

A refresh token works once. A second use means that two parties have the token, so the API revokes the family. A retry
with the Idempotency-Key of the first use is not treated as a second use (`may_be_retried`).
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from config.core import audit
from config.core.credentials import Credential, InvalidToken
from config.core.digest import digest_of
from config.core.lifecycle import SecondFactorRequired
from config.core.tokens import ALGORITHM, verify_access_token
from identity.access.consents import APP, give_consent
from identity.access.models import OAuthClient, RefreshToken, TokenFamily, User
from identity.access.scopes import SCOPES
from identity.access.second_factor import has_one
from identity.access.signing_keys import key_ring
from identity.access.staff import may_use_password
from identity.errors import LogInTooOld

ACCESS_SECONDS = 900
RECENT = timedelta(minutes=10)  # the maximum age of a log-in for actions that require a recent log-in
REFRESH_DAYS = 30
RETRY_WINDOW = timedelta(minutes=5)  # during this time, a retry with the same Idempotency-Key returns the same tokens


@dataclass(frozen=True, slots=True)
class TokenPair:
    """The tokens of a log-in or a refresh. Lifetimes are in seconds."""

    access_token: str
    refresh_token: str
    scope: str = " ".join(SCOPES)
    token_type: str = "Bearer"  # noqa: S105  no secret
    expires_in: int = ACCESS_SECONDS
    refresh_expires_in: int = REFRESH_DAYS * 86_400


class ReusedToken(Exception):  # callers get InvalidToken instead
    def __init__(self, family_id: UUID) -> None:
        super().__init__()
        self.family_id = family_id


class PlatformAccessToken(AccessToken):
    """simplejwt's access token, which is signed with a key of the key ring. `config.core.tokens` verifies it."""

    lifetime = timedelta(seconds=ACCESS_SECONDS)

    def __str__(self) -> str:
        kid, private = key_ring.signing()
        return jwt.encode(self.payload, private, algorithm=ALGORITHM, headers={"kid": kid})


def issue_access_token(*, user: User, family: TokenFamily, scope: str | None = None) -> str:
    """Return a signed access token.

    A client's token gets the scope of its family. If `scope` is passed, the token gets only that subset.
    """
    token = PlatformAccessToken()
    token["iss"] = token["aud"] = settings.BASE_URL
    token["sub"] = str(user.pk)
    token["sid"] = str(family.pk)
    if family.actor_id is not None:
        token["act"] = {"sub": str(family.actor_id)}  # RFC 8693, section 4.1
        token["scope"] = family.scope
    elif family.client is not None:
        token["client_id"] = family.client.client_id
        token["scope"] = family.scope if scope is None else scope
    else:  # a client's token doesn't reveal that its user is staff
        ways = ["pwd", "otp"] if family.second_factor else ["pwd"]
        token["amr"] = ways if family.ends_at is None else ["mfa"]  # RFC 8176
        if user.is_staff:
            token["staff"] = True
    return str(token)


def require_recent_log_in(credential: Credential, *, now: datetime) -> None:
    """Raise LogInTooOld after 10 minutes, or SecondFactorRequired if the log-in lacks the account's second factor."""
    family = TokenFamily.objects.select_related("user").get(pk=credential.id)
    if family.created_at < now - RECENT:
        raise LogInTooOld
    if not family.second_factor and has_one(family.user):
        raise SecondFactorRequired


def read_access_token(text: str) -> dict[str, Any]:
    """Return the claims of an access token. Raises InvalidToken or ExpiredToken."""
    return verify_access_token(text, issuer=settings.BASE_URL, find_key=key_ring.verifying)


def issue_refresh_token(*, family: TokenFamily, now: datetime) -> str:
    text = f"rt_{secrets.token_urlsafe(32)}"
    RefreshToken.objects.create(
        family=family, digest=digest_of(text), created_at=now, expires_at=now + timedelta(days=REFRESH_DAYS)
    )
    return text


def start_family(*, user: User, now: datetime, **columns: Any) -> TokenPair:
    """Create the family of a log-in or a consent (`columns`). Raises IntegrityError for a used authorization code."""
    with transaction.atomic():
        # If the clock was set back, `now` can be before the password's last change, and a family would be invalid.
        made_at = max(now, user.credentials_changed_at)
        family = TokenFamily.objects.create(user=user, created_at=made_at, **columns)
        if family.client is not None:
            scope = f"{family.client.name}: {family.scope}"
            text = digest_of("\n".join(SCOPES[name] for name in family.scope.split()))
            give_consent(user.pk, APP, family.pk, scope=scope, text_sha256=text, now=now)
        refresh = issue_refresh_token(family=family, now=now)
        used = {} if family.client_id is None else {"unmapped": {"client": str(family.client_id)}}
        audit.emit("log_in", user=audit.ocsf_user(user.pk, f"jwt:{family.pk}"), is_mfa=family.second_factor, **used)
    return TokenPair(issue_access_token(user=user, family=family), refresh)


def find_refresh_token(text: str, *, client: OAuthClient | None, now: datetime) -> RefreshToken | None:
    """Return a valid token of the client, or of a log-in if `client` is None.

    The returned token may have been used already. Otherwise, return None.
    """
    token = RefreshToken.objects.select_related("family__user", "family__client").filter(digest=digest_of(text)).first()
    if token is None or token.expires_at <= now or not family_is_live(token.family):
        return None
    return token if token.family.client_id == (None if client is None else client.pk) else None


def may_be_retried(token: RefreshToken, *, now: datetime) -> bool:
    """Check whether a retry of a refresh request may get the stored response again.

    Returns True for an unused token. Returns True for a used token during RETRY_WINDOW, until a newer token is used.
    """
    if token.used_at is None:
        return True
    used_later = RefreshToken.objects.filter(family=token.family_id, used_at__gte=token.used_at).exclude(pk=token.pk)
    return now - token.used_at <= RETRY_WINDOW and not used_later.exists()


def rotate_refresh_token(
    text: str, *, now: datetime, client: OAuthClient | None = None, scope: str | None = None
) -> TokenPair:
    """Exchange a refresh token for a new pair. `scope` limits the access token.

    The token must belong to `client`, or to a log-in if `client` is None. Raises InvalidToken if the token is unknown,
    expired, used, of a different client, or of an ended family. A used token also ends its family. Exactly one of
    several concurrent uses succeeds.
    """
    with end_family_of_reused_token(now=now), transaction.atomic():
        return use_refresh_token(text, now=now, client=client, scope=scope)


def use_refresh_token(
    text: str, *, now: datetime, client: OAuthClient | None = None, scope: str | None = None
) -> TokenPair:
    """Rotate a refresh token in the caller's transaction. Raises InvalidToken and ReusedToken."""
    token = find_refresh_token(text, client=client, now=now)
    if token is None:
        raise InvalidToken
    is_from_issuer = token.family.ends_at is not None
    if client is None and not is_from_issuer and not may_use_password(token.family.user):
        raise InvalidToken("Staff must log in with single sign-on.")
    if client is None and not token.family.second_factor and has_one(token.family.user):
        raise InvalidToken("The account has added a second factor. Log in again with it.")
    if not RefreshToken.objects.filter(pk=token.pk, used_at__isnull=True).update(used_at=now):
        raise ReusedToken(token.family_id)
    refresh = issue_refresh_token(family=token.family, now=now)
    return TokenPair(issue_access_token(user=token.family.user, family=token.family, scope=scope), refresh)


@contextmanager
def end_family_of_reused_token(*, now: datetime) -> Iterator[None]:
    """Convert a ReusedToken to InvalidToken, and revoke the token's family after the rollback of the transaction."""
    try:
        yield
    except ReusedToken as reuse:
        TokenFamily.objects.filter(pk=reuse.family_id).revoke(now=now)
        raise InvalidToken("The refresh token was used before. The API ended its log-in. Log in again.") from None


def family_is_live(family: TokenFamily) -> bool:
    user = family.user
    if family.actor is not None and (not family.actor.is_active or user.is_staff):
        # Partners can't act on behalf of staff, including accounts that became staff after the token was issued.
        return False
    if family.ends_at is not None and family.ends_at <= timezone.now():
        return False
    return family.revoked_at is None and user.is_active and family.created_at >= user.credentials_changed_at


def end_log_ins_of_device(*, instance: Any, **_signal: Any) -> None:
    """End the account's log-ins that used a second factor, because an authenticator was removed.

    Apps stay authorized, but their `second_factor` becomes False.
    """
    made_with_it = TokenFamily.objects.filter(user_id=instance.user_id, second_factor=True)
    made_with_it.filter(client__isnull=True).revoke(now=timezone.now())
    made_with_it.filter(client__isnull=False).update(second_factor=False)


def revoke_refresh_token(text: str, *, now: datetime, client: OAuthClient | None = None) -> None:
    """Revoke the family of a refresh token.

    `client` is the app that owns the token, or None for the token of a log-in. Ignores unknown tokens, and tokens of
    other clients (RFC 7009).
    """
    live = TokenFamily.objects.filter(refresh_tokens__digest=digest_of(text), client=client, revoked_at__isnull=True)
    for family in live:
        TokenFamily.objects.filter(pk=family.pk).revoke(now=now)
        audit.emit("log_out", user=audit.ocsf_user(family.user_id, f"jwt:{family.pk}"))
