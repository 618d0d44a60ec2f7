"""A client for OpenID Connect Core 1.0: the authorization code flow with PKCE, and back-channel logout.

Each response of the issuer is validated before its use: the issuer, signature, audience, nonce, and times. An outage or
an invalid response raises `SignInFailed`. Logs contain the `word` of the exception, but never a token or a claim.
"""

import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeGuard
from urllib.parse import quote_plus, urlencode, urlsplit

import jwt
from django.conf import settings
from django.utils.crypto import constant_time_compare

from config.clients.provider import ProviderError, call
from config.core.adapters import is_text
from identity.oidc.environment import Issuer

ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
# Authentication classes (`acr`) with a second factor. A log-in requests the classes that the issuer supports.
STRONG_CLASSES = (
    "phr", "phrh", "https://refeds.org/profile/mfa", "http://schemas.openid.net/pape/policies/2007/06/multi-factor",
)  # fmt: skip
STRONG_METHODS = frozenset({"otp", "mfa", "hwk"})  # the values of `amr` for a second factor (RFC 8176)
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
TEXT_MAX = 255
_ADDRESS_MAX_LENGTH = 2048
_SECONDS = 5.0  # the timeout of each request to the issuer
_CACHE_SECONDS = 600.0
_FAILURE_SECONDS = 10.0  # after a failed fetch, the minimum time before the next attempt
_REFETCH_SECONDS = 30.0  # the minimum time between fetches because of unknown key IDs
_CLOCK_SECONDS = 60  # the tolerance for the issuer's clock
_AGE_SECONDS = 300  # the maximum age of a token
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

_documents: dict[str, tuple[float, Any]] = {}  # address → (time of the fetch, document)
_failures: dict[str, tuple[float, str, bool]] = {}  # address → (time of the failure, arguments of SignInFailed)


class SignInFailed(Exception):
    """The issuer's response is missing or invalid. If `is_outage` is true, a retry may succeed."""

    def __init__(self, word: str, *, is_outage: bool = False) -> None:
        super().__init__(word)
        self.word, self.is_outage = word, is_outage


def configured() -> Issuer:
    """Return the issuer from the settings. If no issuer is configured, the pages return 404."""
    issuer = settings.STAFF_OIDC
    if issuer is None:
        raise SignInFailed("not_configured")
    return issuer


def forget_documents() -> None:
    _documents.clear()
    _failures.clear()


def callback_address() -> str:
    return f"{settings.APP_URL}/account/oidc/callback"


def discover() -> dict[str, Any]:
    """Return the issuer's metadata (OpenID Connect Discovery 1.0, section 4). Its `issuer` must match the settings."""
    issuer = configured().url
    metadata: dict[str, Any] = _document(f"{issuer.rstrip('/')}/.well-known/openid-configuration", _CACHE_SECONDS)
    if metadata.get("issuer") != issuer:
        raise SignInFailed("other_issuer")
    for name in (*_ENDPOINTS, *({"userinfo_endpoint"} & metadata.keys())):
        if not _is_address(metadata.get(name)):
            raise SignInFailed(f"bad_{name}")
    return metadata


def _is_address(value: Any) -> bool:
    """Return whether a value is a URL with a host. In production, the scheme must be https."""
    if not is_text(value, _ADDRESS_MAX_LENGTH) or not value.isprintable() or " " in value:
        return False
    try:
        parts = urlsplit(value)
        has_host = bool(parts.hostname) and parts.port != 0  # `port` raises ValueError for an invalid port
    except ValueError:
        return False
    return has_host and parts.scheme in (("https",) if settings.PRODUCTION else ("https", "http"))


def authorization_address(*, state: str, nonce: str, verifier: str) -> str:
    """Return the URL of the issuer's log-in page. The session stores the random state, nonce, and verifier."""
    metadata = discover()
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    supported = _texts(metadata.get("scopes_supported"))
    scopes = ["openid", "email", *(["groups"] if "groups" in supported else [])]
    parameters = {
        "response_type": "code", "client_id": configured().client_id, "redirect_uri": callback_address(),
        "scope": " ".join(scopes), "state": state, "nonce": nonce, "code_challenge": challenge,
        "code_challenge_method": "S256",
    }  # fmt: skip
    if classes := requested_classes(metadata):
        parameters["acr_values"] = " ".join(classes)
    address = str(metadata["authorization_endpoint"])
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"


def requested_classes(metadata: dict[str, Any]) -> list[str]:
    supported = _texts(metadata.get("acr_values_supported"))
    return [name for name in STRONG_CLASSES if name in supported]


def check_response_issuer(named: str | None) -> None:
    """Raise SignInFailed if the authorization response is from another issuer (RFC 9207, mix-up attack)."""
    required = discover().get("authorization_response_iss_parameter_supported") is True
    if named != configured().url and (required or named is not None):
        raise SignInFailed("mix_up")


def exchange_code(code: str, *, verifier: str, nonce: str) -> dict[str, Any]:
    """Exchange a code for the user's claims, from the ID token and, if necessary, the userinfo endpoint."""
    metadata = discover()
    form = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": callback_address(), "code_verifier": verifier,
    }  # fmt: skip
    tokens = _token_response(metadata, form)
    claims = read_token(tokens.get("id_token"))
    named = claims.get("nonce")
    if claims.get("events") is not None or not _is_text(named) or not constant_time_compare(named, nonce):
        raise SignInFailed("nonce")
    if claims.keys() >= {"email", "email_verified", "groups"} or "userinfo_endpoint" not in metadata:
        return claims
    headers = {"Authorization": f"Bearer {tokens.get('access_token')}", "Accept": "application/json"}
    further = _read(lambda: call("GET", metadata["userinfo_endpoint"], headers=headers, seconds=_SECONDS))
    if further.get("sub") != subject_of(claims):
        raise SignInFailed("userinfo_of_another")
    if further.get("email") != claims.get("email", further.get("email")):
        further.pop("email_verified", None)  # the flag applies to another email address
    return {**further, **claims}


def _token_response(metadata: dict[str, Any], form: dict[str, str]) -> dict[str, Any]:
    """Exchange a code with HTTP Basic, or with form fields if the issuer requires them (RFC 6749, section 2.3.1)."""
    issuer, headers = configured(), {"Accept": "application/json"}
    methods = _texts(metadata.get("token_endpoint_auth_methods_supported")) or ["client_secret_basic"]
    if "client_secret_basic" not in methods and "client_secret_post" in methods:
        form |= {"client_id": issuer.client_id, "client_secret": issuer.client_secret}
    else:
        pair = f"{quote_plus(issuer.client_id)}:{quote_plus(issuer.client_secret)}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return _read(lambda: call("POST", metadata["token_endpoint"], form=form, headers=headers, seconds=_SECONDS))


def has_second_factor(claims: dict[str, Any]) -> bool:
    """Return whether the issuer checked a second factor, according to `amr` or to a requested `acr`."""
    methods = STRONG_METHODS & set(_texts(claims.get("amr")))
    return bool(methods) or claims.get("acr") in requested_classes(discover())


def read_token(token: Any) -> dict[str, Any]:
    """Validate an ID token or logout token for this client and return its claims.

    The token must be at most 5 minutes old.
    """
    if not isinstance(token, str):
        raise SignInFailed("no_token")
    issuer = configured()
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise SignInFailed("algorithm")
        claims: dict[str, Any] = jwt.decode(
            token,
            key=_key(header.get("kid"), str(algorithm)),
            algorithms=[str(algorithm)],
            audience=issuer.client_id,
            issuer=issuer.url,
            leeway=_CLOCK_SECONDS,
            options={"require": ["iss", "aud", "iat"]},
        )
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:  # OverflowError: a time of Infinity
        raise SignInFailed(type(error).__name__) from error
    if type(claims["iat"]) not in {int, float}:
        raise SignInFailed("bad_iat")  # the library also accepts a string of digits
    if claims["iat"] < time.time() - _AGE_SECONDS:
        raise SignInFailed("too_old")
    is_shared = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if is_shared else issuer.client_id) != issuer.client_id:
        raise SignInFailed("authorized_party")
    return claims


def read_logout_token(token: Any) -> dict[str, Any]:
    """Validate a logout token and return its claims (OpenID Connect Back-Channel Logout 1.0, section 2.6)."""
    claims = read_token(token)
    events = claims.get("events")
    if not isinstance(events, dict) or LOGOUT_EVENT not in events or "nonce" in claims:
        raise SignInFailed("no_logout_token")
    named = [claims[name] for name in ("sub", "sid") if claims.get(name) is not None]
    if not named or not all(map(_is_text, named)):
        raise SignInFailed("no_subject")
    return claims


def subject_of(claims: dict[str, Any]) -> str:
    if not _is_text(claims.get("sub")):
        raise SignInFailed("no_subject")
    return str(claims["sub"])


def _is_text(value: Any) -> TypeGuard[str]:
    return is_text(value, TEXT_MAX)


def _texts(value: Any) -> list[str]:
    return [member for member in value if isinstance(member, str)] if isinstance(value, list) else []


def groups_of(claims: dict[str, Any]) -> list[str]:
    """Return the user's groups at the issuer, from the claim `groups`."""
    return _texts(claims.get("groups"))


def _key(identifier: Any, algorithm: str) -> jwt.PyJWK:
    """Return the issuer's key for a token. If the key ID is unknown, fetch the keys again, at most every 30 s."""
    address = str(discover()["jwks_uri"])
    for seconds in (_CACHE_SECONDS, _REFETCH_SECONDS):
        keys = _document(address, seconds).get("keys")
        fitting = [
            key
            for key in (keys if isinstance(keys, list) else [])
            if isinstance(key, dict)
            and (identifier is None or key.get("kid") == identifier)
            and key.get("use", "sig") == "sig"
            and key.get("alg", algorithm) == algorithm
        ]
        if len(fitting) == 1:
            return jwt.PyJWK(fitting[0], algorithm=algorithm)
    raise SignInFailed("unknown_key")


def _document(address: str, seconds: float) -> Any:
    """Return a JSON object from the issuer. A cached object is at most `seconds` old.

    For 10 s after a failure, raises the same error without a request, so that an outage doesn't block threads.
    """
    fetched, now = _documents.get(address), time.monotonic()
    if fetched is not None and fetched[0] >= now - seconds:
        return fetched[1]
    failure = _failures.get(address)
    if failure is not None and failure[0] >= now - _FAILURE_SECONDS:
        raise SignInFailed(failure[1], is_outage=failure[2])
    try:
        document = _read(lambda: call("GET", address, headers={"Accept": "application/json"}, seconds=_SECONDS))
    except SignInFailed as error:
        _failures[address] = (time.monotonic(), error.word, error.is_outage)
        raise
    _failures.pop(address, None)
    _documents[address] = (time.monotonic(), document)
    return document


def _read(send: Callable[[], Any]) -> dict[str, Any]:
    try:
        answer = send()
        document = answer.json() if answer.status == 200 else None
    except ProviderError as error:
        raise SignInFailed(error.word, is_outage=True) from error
    if not isinstance(document, dict):
        raise SignInFailed(f"status_{answer.status}", is_outage=answer.status >= 500)
    return document
