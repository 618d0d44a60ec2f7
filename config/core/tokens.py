"""Validation of an access token's signature and claims.

Service A issues access tokens, and both services accept them. Only service A also checks whether the log-in has ended.
"""

import time
from collections.abc import Callable
from typing import Any

import jwt

from config.core.credentials import ExpiredToken, InvalidToken
from config.core.ids import parse_positive_int64, parse_uuid

ALGORITHM = "ES256"
CLOCK_SKEW_SECONDS = 60  # the issuer's clock may be ahead by this time
_HEADER_MEMBERS = {"alg", "typ", "kid"}
_TOKEN_MAX_LENGTH = 4096
_LATEST_MOMENT = 253_402_300_800  # the year 10000, which datetime can't represent
# This module checks the claims, because the library accepts the string "9999999999" as a time.
SIGNATURE_ONLY: Any = {f"verify_{claim}": False for claim in ("exp", "iat", "nbf", "aud", "iss", "sub", "jti")}


def verify_access_token(text: str, *, issuer: str, find_key: Callable[[str], Any]) -> dict[str, Any]:
    """Return the claims of an access token whose `iss` and `aud` are `issuer` (`BASE_URL`).

    `find_key` returns the public key of a key ID (`kid`), or None. Raises ExpiredToken for an expired token, and
    InvalidToken for any other invalid token (specification section 5).
    """
    if len(text) > _TOKEN_MAX_LENGTH:
        raise InvalidToken
    try:
        header = jwt.get_unverified_header(text)
        kid = header.get("kid")
        if header.get("alg") != ALGORITHM or not set(header) <= _HEADER_MEMBERS or not isinstance(kid, str):
            raise InvalidToken
        key = find_key(kid)
        if key is None:
            raise InvalidToken
        claims: dict[str, Any] = jwt.decode(text, key, algorithms=[ALGORITHM], options=SIGNATURE_ONLY)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidToken from error
    if not _is_access_token(claims, issuer) or not _is_of_this_time(claims):
        raise InvalidToken
    if claims["exp"] <= time.time():
        raise ExpiredToken
    return claims


def _is_access_token(claims: dict[str, Any], issuer: str) -> bool:
    subject, family = claims.get("sub"), claims.get("sid")
    return (
        claims.get("iss") == issuer
        and claims.get("aud") == issuer
        and claims.get("token_type") == "access"
        and isinstance(claims.get("jti"), str)
        and isinstance(subject, str)
        and parse_positive_int64(subject) is not None
        and isinstance(family, str)
        and parse_uuid(family) is not None
        and isinstance(claims.get("scope", ""), str)
        and isinstance(claims.get("client_id", ""), str)
    )


def _is_of_this_time(claims: dict[str, Any]) -> bool:
    moments: list[Any] = [claims.get("exp"), claims.get("iat"), claims.get("nbf", 0)]
    if not all(type(moment) in {int, float} and 0 <= moment < _LATEST_MOMENT for moment in moments):
        return False
    return bool(max(moments[1:]) <= time.time() + CLOCK_SKEW_SECONDS)
