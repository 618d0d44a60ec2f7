"""Access and refresh tokens: issuing, checking, rotating, revoking (specification section 5, items 7 to 9).

An access token is a JWT signed with ES256 by the newest signing key. It names its family (`sid`), so that revoking a
family, changing a password or disabling a user ends it within seconds. A refresh token is random text kept as SHA-256,
good for one use; a second use means that two parties hold it, so the whole family is revoked.
"""

import hashlib
import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from jwt.algorithms import ECAlgorithm
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.tokens import AccessToken

from config.api.credentials import ExpiredToken, InvalidToken
from config.api.ids import parse_positive_int64, parse_uuid
from identity.models import OAuthClient, RefreshToken, SigningKey, TokenFamily, User

ALGORITHM = "ES256"
ACCESS_SECONDS = 900
REFRESH_DAYS = 30
CLOCK_SKEW_SECONDS = 60  # how far ahead another machine's clock may issue a token
_KEYS_REMEMBERED_SECONDS = 5.0
_HEADER_MEMBERS = {"alg", "typ", "kid"}
_TOKEN_MAX_LENGTH = 4096
_LATEST_MOMENT = 253_402_300_800  # the year 10000, which no datetime holds


@dataclass(frozen=True, slots=True)
class TokenPair:
    """What a log-in or a refresh gives: texts, and lifetimes in seconds."""

    access_token: str
    refresh_token: str
    expires_in: int = ACCESS_SECONDS
    refresh_expires_in: int = REFRESH_DAYS * 86_400


class KeyRing:
    """The signing keys of the database, remembered for a few seconds."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._verifying: dict[str, Any] = {}
        self._signing: tuple[str, Any] | None = None
        self._read_at = 0.0

    def forget(self) -> None:
        """Read the database again next time."""
        self._read_at, self._signing, self._verifying = 0.0, None, {}

    def signing(self) -> tuple[str, Any]:
        """Return (kid, private key) of the newest key, making the first one when there is none."""
        self._refresh()
        if self._signing is None:
            create_signing_key(now=timezone.now())
            self.forget()
            self._refresh()
        if self._signing is None:
            raise InvalidToken("No signing key is usable.")
        return self._signing

    def verifying(self, kid: str) -> Any:
        """Return the public key with this id; raises InvalidToken when there is none."""
        self._refresh()
        key = self._verifying.get(kid)
        if key is None:
            raise InvalidToken
        return key

    def _refresh(self) -> None:
        """Read the keys, at most every few seconds."""
        if time.monotonic() - self._read_at < _KEYS_REMEMBERED_SECONDS:
            return
        usable = live_signing_keys(timezone.now())
        self._verifying = {key.kid: ECAlgorithm.from_jwk(key.public_jwk) for key in usable}
        self._signing = None
        for key in usable:
            if key.retires_at is None:
                private = serialization.load_pem_private_key(key.private_key.encode(), password=None)
                self._signing = (key.kid, private)
                break
        self._read_at = time.monotonic()


key_ring = KeyRing()


def live_signing_keys(now: datetime) -> list[SigningKey]:
    """Return the keys whose tokens are accepted, newest first."""
    return [key for key in SigningKey.objects.all() if key.retires_at is None or key.retires_at > now]


def create_signing_key(*, now: datetime) -> SigningKey:
    """Make and store a key pair."""
    private = ec.generate_private_key(ec.SECP256R1())
    kid = secrets.token_hex(8)
    jwk = ECAlgorithm(ECAlgorithm.SHA256).to_jwk(private.public_key(), as_dict=True)
    return SigningKey.objects.create(
        kid=kid,
        private_key=private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
        public_jwk={**jwk, "kid": kid, "use": "sig", "alg": ALGORITHM},
        created_at=now,
    )


def rotate_signing_key(*, now: datetime, overlap: timedelta) -> tuple[SigningKey, list[str]]:
    """Make a new signing key; the older ones verify for `overlap` more. Return it and the ids retired."""
    with transaction.atomic():
        older = list(SigningKey.objects.filter(retires_at__isnull=True))
        SigningKey.objects.filter(kid__in=[key.kid for key in older]).update(retires_at=now + overlap)
        fresh = create_signing_key(now=now)
    key_ring.forget()
    return fresh, [key.kid for key in older]


class KeyRingBackend(TokenBackend):
    """simplejwt's backend over several keys, with claims checked by type before anybody uses them."""

    def encode(self, payload: dict[str, Any]) -> str:
        """Sign with the newest key and name it in the header."""
        kid, private = key_ring.signing()
        return jwt.encode(payload, private, algorithm=ALGORITHM, headers={"kid": kid})

    def decode(self, token: Any, verify: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the claims; raises InvalidToken or ExpiredToken for everything but a token of ours."""
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") != ALGORITHM or not set(header) <= _HEADER_MEMBERS:
                raise InvalidToken
            kid = header.get("kid")
            if not isinstance(kid, str):
                raise InvalidToken
            claims: dict[str, Any] = jwt.decode(
                token,
                key_ring.verifying(kid),
                algorithms=[ALGORITHM],
                options={
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                    "verify_aud": False,
                    "verify_iss": False,
                    "verify_sub": False,
                    "verify_jti": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidToken from error
        _check_claims(claims)
        return claims


def _check_claims(claims: dict[str, Any]) -> None:
    """Refuse claims of the wrong type, of another service, of another time."""
    now = time.time()
    moments: dict[str, Any] = {"nbf": 0, **{name: claims[name] for name in ("exp", "iat", "nbf") if name in claims}}
    if not all(type(moment) in {int, float} and 0 <= moment < _LATEST_MOMENT for moment in moments.values()):
        raise InvalidToken
    if moments.keys() != {"exp", "iat", "nbf"} or max(moments["iat"], moments["nbf"]) > now + CLOCK_SKEW_SECONDS:
        raise InvalidToken
    if claims.get("iss") != settings.BASE_URL or claims.get("aud") != settings.BASE_URL:
        raise InvalidToken
    if not isinstance(claims.get("sub"), str) or parse_positive_int64(claims["sub"]) is None:
        raise InvalidToken
    if not isinstance(claims.get("jti"), str) or claims.get("token_type") != "access":
        raise InvalidToken
    family = claims.get("sid")
    if not isinstance(family, str) or parse_uuid(family) is None:
        raise InvalidToken
    if not isinstance(claims.get("scope", ""), str) or not isinstance(claims.get("client_id", ""), str):
        raise InvalidToken
    if claims["exp"] <= now:
        raise ExpiredToken


class PlatformAccessToken(AccessToken):
    """simplejwt's access token with our lifetime, our claims and our keys."""

    lifetime = timedelta(seconds=ACCESS_SECONDS)
    _token_backend = KeyRingBackend(ALGORITHM)


def issue_access_token(*, user: User, family: TokenFamily, scope: str | None = None) -> str:
    """Return a signed access token of a family.

    A client's token is limited to the family's scope, or to the part of it that `scope` names. It never says that its
    user is staff: that is not the client's to use.
    """
    token = PlatformAccessToken()
    token["iss"] = token["aud"] = settings.BASE_URL
    token["sub"] = str(user.pk)
    token["sid"] = str(family.pk)
    if family.client is not None:
        token["client_id"] = family.client.client_id
        token["scope"] = family.scope if scope is None else scope
    elif user.is_staff:
        token["staff"] = True
    return str(token)


def read_access_token(text: str) -> dict[str, Any]:
    """Return the claims of an access token; raises InvalidToken or ExpiredToken."""
    if len(text) > _TOKEN_MAX_LENGTH:
        raise InvalidToken
    claims: dict[str, Any] = PlatformAccessToken(cast("Any", text)).payload
    return claims


def digest_of(text: str) -> str:
    """Return what a refresh token is kept as."""
    return hashlib.sha256(text.encode()).hexdigest()


def issue_refresh_token(*, family: TokenFamily, now: datetime) -> str:
    """Store a new refresh token of the family; return its text."""
    text = f"rt_{secrets.token_urlsafe(32)}"
    RefreshToken.objects.create(
        family=family, digest=digest_of(text), created_at=now, expires_at=now + timedelta(days=REFRESH_DAYS)
    )
    return text


def start_family(*, user: User, now: datetime, **of_a_client: Any) -> TokenPair:
    """Log a user in: a new family with its first pair of tokens.

    `of_a_client` are the columns of a consent: `client`, `scope`, `code_sha256`. Raises IntegrityError when the code
    has made a family already.
    """
    with transaction.atomic():
        # Not before the password that it was made with: a clock that was set back would end it at once.
        made_at = max(now, user.credentials_changed_at)
        family = TokenFamily.objects.create(user=user, created_at=made_at, **of_a_client)
        refresh = issue_refresh_token(family=family, now=now)
    return TokenPair(issue_access_token(user=user, family=family), refresh)


def find_refresh_token(text: str, *, client: OAuthClient | None, now: datetime) -> RefreshToken | None:
    """Return a refresh token of the client's (None: of a log-in's) that may be used or was used, or None."""
    token = RefreshToken.objects.select_related("family__user", "family__client").filter(digest=digest_of(text)).first()
    if token is None or token.expires_at <= now or not family_is_live(token.family):
        return None
    return token if token.family.client_id == (None if client is None else client.pk) else None


def rotate_refresh_token(
    text: str, *, now: datetime, client: OAuthClient | None = None, scope: str | None = None
) -> TokenPair:
    """Exchange a refresh token of the client's (None: of a log-in's) for a new pair.

    `scope` narrows the new access token. Raises InvalidToken when the refresh token is unknown, expired, somebody
    else's, of an ended family, or used before; a token that was used before ends its family. Of concurrent uses
    exactly one finds it unused.
    """
    with transaction.atomic():
        token = find_refresh_token(text, client=client, now=now)
        if token is None:
            raise InvalidToken
        unused = RefreshToken.objects.filter(pk=token.pk, used_at__isnull=True).update(used_at=now)
        if unused:
            refresh = issue_refresh_token(family=token.family, now=now)
        else:
            revoke_family(token.family_id, now=now)
    if not unused:
        raise InvalidToken("The refresh token was used before. Its log-in has been ended.")
    return TokenPair(issue_access_token(user=token.family.user, family=token.family, scope=scope), refresh)


def family_is_live(family: TokenFamily) -> bool:
    """Say whether tokens of this family still count."""
    user = family.user
    return family.revoked_at is None and user.is_active and family.created_at >= user.credentials_changed_at


def revoke_family(family_id: UUID, *, now: datetime) -> None:
    """End every token of a family."""
    TokenFamily.objects.filter(pk=family_id, revoked_at__isnull=True).update(revoked_at=now)


def revoke_refresh_token(text: str, *, now: datetime, client: OAuthClient | None = None) -> None:
    """End the family of a refresh token of the client's (None: of a log-in's); silent when there is none (RFC 7009)."""
    token = RefreshToken.objects.filter(digest=digest_of(text), family__client=client).first()
    if token is not None:
        revoke_family(token.family_id, now=now)
