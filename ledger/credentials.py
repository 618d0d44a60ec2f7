"""Who may write, in production: holders of a token of service A, or of a listed key.

Service B has no accounts. It verifies service A's access tokens with the public keys that A publishes, and
knows machine keys only by the SHA-256 in `LEDGER_API_KEYS`. In development writing is open (decisions, table
of profiles).
"""

import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
import orjson
import requests
from django.conf import settings
from jwt.algorithms import ECAlgorithm

from config.api.credentials import AmbiguousCredentials, AuthenticationRequired, ExpiredToken, InvalidToken
from config.api.errors import Unavailable, UserMismatch
from config.api.ids import parse_positive_int64
from config.api.views import InsufficientScope

ANCHOR_SCOPE = "identity:write"
LIST_SCOPE = "identity:read"

_ALGORITHM = "ES256"
_HEADER_MEMBERS = {"alg", "typ", "kid"}
_REQUIRED_CLAIMS = ["iss", "sub", "aud", "exp", "iat", "jti"]
_TOKEN_MAX_LENGTH = 4_096
_CLOCK_SKEW_SECONDS = 60
_LATEST_TIME = 253_402_300_799  # the last second of the year 9999

_JWKS_TIMEOUT_SECONDS = (2.0, 3.0)
_JWKS_MAX_BYTES = 65_536
_JWKS_FRESH_SECONDS = 300.0
# A key id that is not known is worth a new look, but strangers must not make us ask A at every request.
_JWKS_RETRY_SECONDS = 10.0


@dataclass(frozen=True)
class Caller:
    """Who calls. `user_id` None stands for nobody in particular: a listed key, or development."""

    label: str
    user_id: str | None = None
    is_staff: bool = False
    scopes: frozenset[str] | None = None

    def allows(self, scope: str) -> bool:
        """Whether the credential carries the scope; a first-party token and a listed key carry all."""
        return self.scopes is None or scope in self.scopes

    def check_may_anchor(self, user_id: str) -> None:
        """Raise InsufficientScope or UserMismatch unless the caller may anchor for this user."""
        self._check(user_id, ANCHOR_SCOPE)

    def check_may_list(self, user_id: str) -> None:
        """Raise InsufficientScope or UserMismatch unless the caller may see what this user anchored."""
        self._check(user_id, LIST_SCOPE)

    def _check(self, user_id: str, scope: str) -> None:
        if not self.allows(scope):
            raise InsufficientScope(f"This needs the scope {scope}.", details={"required": scope})
        if self.user_id is not None and user_id != self.user_id and not self.is_staff:
            raise UserMismatch


ANYBODY = Caller("development")


class PublishedKeys:
    """Service A's public keys, fetched when first needed and remembered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, Any] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")

    def find(self, kid: str) -> Any:
        """The key with this id, or None. Raises Unavailable when A has never answered."""
        with self._lock:
            now = time.monotonic()
            stale = now - self._fetched_at > _JWKS_FRESH_SECONDS or kid not in self._keys
            if stale and now - self._tried_at > _JWKS_RETRY_SECONDS:
                self._tried_at = now
                self._refresh(now)
            if self._fetched_at == float("-inf"):
                raise Unavailable("Tokens cannot be checked now: the keys of the main service are out of reach.")
            return self._keys.get(kid)

    def _refresh(self, now: float) -> None:
        """Fetch; when A does not answer, or not with keys, what is known stays."""
        address = f"{settings.BASE_URL.removesuffix('/v1')}/.well-known/jwks.json"
        try:
            with requests.get(address, timeout=_JWKS_TIMEOUT_SECONDS, allow_redirects=False, stream=True) as response:
                response.raise_for_status()
                content = response.raw.read(_JWKS_MAX_BYTES + 1, decode_content=True)
            self._keys = _parse_keys(content)
        except (requests.RequestException, OSError, ValueError, KeyError, TypeError, jwt.PyJWTError):
            return
        self._fetched_at = now


def _parse_keys(content: bytes) -> dict[str, Any]:
    """Verification keys by id; ValueError and its like when the document is no key set of ours."""
    if len(content) > _JWKS_MAX_BYTES:
        raise ValueError("the key set is too long")
    document = orjson.loads(content)
    return {key["kid"]: ECAlgorithm.from_jwk(key) for key in document["keys"] if key.get("alg") == _ALGORITHM}


published_keys = PublishedKeys()


def identify(meta: Mapping[str, Any]) -> Caller | None:
    """The caller that the headers (as WSGI environment) name, or None without a credential.

    Raises InvalidToken, ExpiredToken, AmbiguousCredentials, or Unavailable when service A's
    keys cannot be had.
    """
    authorization, key = meta.get("HTTP_AUTHORIZATION"), meta.get("HTTP_X_API_KEY")
    callers = []
    if authorization is not None:
        callers.append(_by_authorization(authorization))
    if key is not None:
        callers.append(_by_key(key))
    if len({caller.label for caller in callers}) > 1:
        raise AmbiguousCredentials
    return callers[0] if callers else None


def _by_authorization(header: str) -> Caller:
    # A server may join two headers with a comma.
    if "," in header:
        raise AmbiguousCredentials("Send one Authorization header.")
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "bearer":
        raise AuthenticationRequired("Send `Authorization: Bearer` or `X-API-Key`.")
    return _by_token(text) if text.count(".") == 2 else _by_key(text)


def _by_key(text: str) -> Caller:
    # The digest, not the key, is compared: how long that takes tells nothing about any key.
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    if digest not in settings.LEDGER_API_KEYS:
        raise InvalidToken
    return Caller(f"key:{digest[:16]}")


def _by_token(text: str) -> Caller:
    """Verify an access token of service A, every claim by value and type."""
    if len(text) > _TOKEN_MAX_LENGTH:
        raise InvalidToken
    try:
        header = jwt.get_unverified_header(text)
        kid = header.get("kid")
        if header.get("alg") != _ALGORITHM or not set(header) <= _HEADER_MEMBERS or not isinstance(kid, str):
            raise InvalidToken
        key = published_keys.find(kid)
        if key is None:
            raise InvalidToken
        claims = jwt.decode(
            text,
            key,
            algorithms=[_ALGORITHM],
            audience=settings.BASE_URL,
            issuer=settings.BASE_URL,
            options={"require": _REQUIRED_CLAIMS, "strict_aud": True, "verify_iat": False},
        )
        return _caller_of(claims)
    except jwt.ExpiredSignatureError as error:
        raise ExpiredToken from error
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise InvalidToken from error


def _caller_of(claims: dict[str, Any]) -> Caller:
    """The caller that verified claims name; ValueError when one of them is of another type."""
    user_id, scope = claims["sub"], claims.get("scope")
    for name in ("exp", "iat"):
        if type(claims[name]) not in {int, float} or not 0 <= claims[name] <= _LATEST_TIME:
            raise ValueError(f"{name} is not a time")
    if claims["iat"] > time.time() + _CLOCK_SKEW_SECONDS:
        raise ValueError("issued in the future")
    if not isinstance(user_id, str) or parse_positive_int64(user_id) is None:
        raise ValueError("sub is no user id")
    if claims.get("token_type", "access") != "access" or not isinstance(claims.get("client_id", ""), str):
        raise ValueError("not an access token")
    if scope is not None and not isinstance(scope, str):
        raise ValueError("scope is not a text")
    delegated_without_scope = "client_id" in claims and scope is None
    scopes = frozenset() if delegated_without_scope else None if scope is None else frozenset(scope.split())
    return Caller(f"user:{user_id}", user_id, is_staff=claims.get("staff") is True, scopes=scopes)
