"""Authentication of requests by a JWT, an API key, or a signature.

The format of the credential determines the authentication method. A process caches the state of a credential for
REMEMBERED_SECONDS. So the requests of a frequent caller need no query, and a revoked credential is rejected within that
time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hmac import compare_digest
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.signals import post_delete, post_save
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from config.core import credentials
from config.core.databases import unawaited
from config.core.digest import digest_of
from config.core.encryption import UnreadableSecret
from config.core.idempotency_keys import InvalidIdempotencyKey, read_key
from identity.access import signatures
from identity.access.keys import KEY_START, check_profile, key_id_of
from identity.access.models import ApiKey, SigningKey, TokenFamily, User
from identity.access.signing_keys import key_ring
from identity.access.tokens import family_is_live, read_access_token
from identity.errors import AccessEnded

REMEMBERED_SECONDS = 3.0
_REMEMBERED_MAX = 20_000
_LAST_USE_GRAIN = timedelta(minutes=1)

Caller = tuple[User, credentials.Credential]


@dataclass(slots=True)
class _CachedCredential:
    """A cache entry: a validated credential, the time at which the entry expires, and the secret of an API key."""

    caller: Caller
    until: float
    secret: str | None = ""  # None if no encryption key decrypts the secret


_remembered: dict[str, _CachedCredential] = {}


def forget_credentials(**_signal: Any) -> None:
    _remembered.clear()
    key_ring.forget()


def forget_on_change() -> None:
    """Clear the cache when this process changes a user, a key, or a token family. Entries of other processes expire."""
    for model in (User, ApiKey, TokenFamily, SigningKey):
        for signal in (post_save, post_delete):
            signal.connect(forget_credentials, sender=model, dispatch_uid=f"forget-{model.__name__}-{id(signal)}")


def _remember(text: str, check: Callable[[str], _CachedCredential]) -> _CachedCredential:
    remembered = _remembered.get(text)
    if remembered is not None and remembered.until > time.monotonic():
        return remembered
    if len(_remembered) >= _REMEMBERED_MAX:
        _remembered.clear()
    _remembered.pop(text, None)
    checked = _remembered[text] = check(text)
    return checked


def _check_token(text: str) -> _CachedCredential:
    claims = read_access_token(text)
    lifetime = claims["exp"] - time.time()
    family = TokenFamily.objects.select_related("user").filter(pk=UUID(claims["sid"])).first()
    if family is None:  # `prune` has deleted the log-in
        raise credentials.ExpiredToken("The log-in has ended. Log in again.")
    if family.actor_id is not None and family.revoked_at is not None:
        raise AccessEnded
    if str(family.user_id) != claims["sub"] or not family_is_live(family):
        raise credentials.InvalidToken
    # The row of the family determines the scopes of a partner's token.
    scope = claims.get("scope") if family.actor_id is None else family.scope
    credential = credentials.Credential(
        kind="jwt",
        id=claims["sid"],
        user_id=family.user_id,
        scopes=None if scope is None else frozenset(scope.split()),
        client_id=claims.get("client_id"),
        second_factor=family.second_factor,
        actor_id=family.actor_id,
    )
    return _CachedCredential((family.user, credential), time.monotonic() + min(REMEMBERED_SECONDS, lifetime))


def _check_key(text: str) -> _CachedCredential:
    check_profile(text)
    identifier = key_id_of(text)
    key = ApiKey.objects.select_related("owner").filter(pk=identifier).first() if identifier else None
    if key is None or not compare_digest(key.digest, digest_of(text)):
        raise credentials.InvalidToken("The API key is unknown.")
    now = timezone.now()
    if key.state_at(now) != "active" or not key.owner.is_active:
        raise credentials.KeyExpiredOrRevoked
    if key.last_used_at is None or now - key.last_used_at > _LAST_USE_GRAIN:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - _LAST_USE_GRAIN)
        with unawaited():
            ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
    credential = credentials.Credential(
        kind="api_key",
        id=key.pk,
        user_id=key.owner_id,
        scopes=None if key.scopes is None else frozenset(key.scopes),
        expires_at=key.expires_at,
        second_factor=bool(key.second_factor),
    )
    lifetime = min(REMEMBERED_SECONDS, (key.expires_at - now).total_seconds())
    return _CachedCredential((key.owner, credential), time.monotonic() + lifetime, secret=_secret_of(key))


def _secret_of(key: ApiKey) -> str | None:
    """Return a key's signing secret. Returns None if the secret can't be decrypted. The key itself remains valid."""
    try:
        return str(key.secret)
    except UnreadableSecret:
        return None


def _signed(request: Request, key: str) -> Caller:
    remembered = _remember(key, _check_key)
    if remembered.secret is None:
        raise credentials.InvalidSignature("The server can't decrypt the secret of this key. Rotate the key.")
    signature = signatures.verify_request(request, remembered.secret)
    if request.method not in credentials.SAFE_METHODS:
        signatures.use_once(signature, idempotency_key=_idempotency_key(request))
    return remembered.caller


def _idempotency_key(request: Request) -> UUID | None:
    """Return the Idempotency-Key if the operation supports it. A later check rejects a malformed key."""
    if not request.parser_context["view"].declared.idempotent:
        return None
    try:
        return read_key(request)
    except InvalidIdempotencyKey:
        return None


class CredentialAuthentication(BaseAuthentication):
    """`Authorization: Bearer` with a JWT or a signed API key, or `X-API-Key` (specification section 5)."""

    def authenticate(self, request: Request) -> Caller | None:
        """Return `(user, credential)`, or None if the request has no credential. Raises AmbiguousCredentials."""
        meta = request.META
        authorization, key = meta.get("HTTP_AUTHORIZATION"), meta.get("HTTP_X_API_KEY")
        if authorization is None and key is None:
            return None
        by_header = self._by_authorization(request, authorization) if authorization is not None else None
        if key is None:
            return by_header
        if not key.isascii():
            raise credentials.InvalidToken("The API key is unknown.")
        if "," in key:
            raise credentials.AmbiguousCredentials("Send one X-API-Key header.")
        by_key = _remember(key, _check_key).caller
        if by_header is not None and by_header[1].user_id != by_key[1].user_id:
            raise credentials.AmbiguousCredentials
        return by_header or by_key

    def _by_authorization(self, request: Request, header: str) -> Caller:
        if not header.isascii():
            raise credentials.InvalidToken
        if "," in header:  # Gunicorn joins repeated headers with a comma
            raise credentials.AmbiguousCredentials("Send one Authorization header.")
        scheme, _, text = header.partition(" ")
        if scheme.lower() != "bearer":
            raise credentials.AuthenticationRequired("Send `Authorization: Bearer` or `X-API-Key`.")
        text = text.lstrip(" ")  # RFC 9110, 11.4, allows one or more spaces
        if not text or " " in text:
            raise credentials.InvalidToken("The bearer token is missing, or contains a space.")
        return _signed(request, text) if text.startswith(KEY_START) else _remember(text, _check_token).caller

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return 'Bearer realm="api"'
