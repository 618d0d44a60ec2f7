"""Requests of the ledger to service A for public keys, and for the validity of tokens.

A token is valid for 15 minutes, but a revocation must take effect within 5 s. So the ledger checks each token with A
every few seconds. The token itself is the credential of the check. If A can't be reached, the ledger rejects all tokens
(503 `E5030`). Listed keys still work.
"""

import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import jwt
import orjson
from django.conf import settings
from jwt.algorithms import ECAlgorithm

from config.core.credentials import InvalidToken
from config.core.errors import Unavailable
from config.core.outgoing import Answer, NoAnswer, exchange
from config.core.tokens import ALGORITHM

_SECONDS = 3.0
_ANSWER_MAX_BYTES = 65_536
_JWKS_FRESH_SECONDS = 300.0
# The ledger requests A's keys at most this often, even if tokens have unknown key IDs.
_JWKS_RETRY_SECONDS = 10.0
# A caches a check for 3 s and the ledger for 2 s, so a revocation takes effect within 5 s.
VERDICT_SECONDS = 2.0
_VERDICTS_MAX = 20_000
# A request that waits for A occupies a thread. For this time after a failure, requests fail immediately.
OUTAGE_SECONDS = 1.0
ACCESS_ENDED = "E2013"  # the code of service A after a customer ended a partner's access


def _ask(address: str, token: str = "") -> Answer:
    """Send a GET request to service A, with `token` if it is not empty. Raises NoAnswer."""
    return exchange(
        "GET",
        address,
        headers={"Authorization": f"Bearer {token}"} if token else None,
        seconds=_SECONDS,
        max_bytes=_ANSWER_MAX_BYTES,
        ca_file=settings.PLATFORM_CA_FILE,
    )


class PublishedKeys:
    """A cache of service A's public keys. The first use requests the keys."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, Any] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")

    def find(self, kid: str) -> Any:
        """Return the key with this id, or None. Raises Unavailable if the cache has no keys yet."""
        with self._lock:
            now = time.monotonic()
            stale = now - self._fetched_at > _JWKS_FRESH_SECONDS or kid not in self._keys
            if stale and now - self._tried_at > _JWKS_RETRY_SECONDS:
                self._tried_at = now
                self._refresh(now)
            if self._fetched_at == float("-inf"):
                raise Unavailable("Tokens can't be checked now: the keys of the main service are unavailable.")
            return self._keys.get(kid)

    def _refresh(self, now: float) -> None:
        """Request the keys. If A fails, the cached keys stay."""
        try:
            answer = _ask(f"{settings.BASE_URL.removesuffix('/v1')}/.well-known/jwks.json")
            if answer.status != HTTPStatus.OK:
                return
            published = [key for key in orjson.loads(answer.body)["keys"] if key.get("alg") == ALGORITHM]
            self._keys = {key["kid"]: ECAlgorithm.from_jwk(key) for key in published}
        except (NoAnswer, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError):
            return
        self._fetched_at = now


@dataclass(frozen=True)
class _Verdict:
    until: float
    is_live: bool
    is_staff: bool = False


class Introspection:
    """A cache of A's token checks, which expire after VERDICT_SECONDS."""

    def __init__(self) -> None:
        self._verdicts: dict[str, _Verdict] = {}
        self._out_until = float("-inf")

    def check(self, token: str, user_id: str) -> bool:
        """Return whether the token's user is staff.

        Raises InvalidToken for a revoked token, and Unavailable if A fails. The caller must first verify the token's
        signature and claims, so that A gets no forged tokens.
        """
        verdict = self._verdicts.get(token)
        if verdict is None or verdict.until <= time.monotonic():
            verdict = self._ask(token, user_id)
            if len(self._verdicts) >= _VERDICTS_MAX:
                self._verdicts.clear()
            self._verdicts[token] = verdict
        if not verdict.is_live:
            raise InvalidToken
        return verdict.is_staff

    def _ask(self, token: str, user_id: str) -> _Verdict:
        """Send a request to A with the token as the credential."""
        began = time.monotonic()
        if began < self._out_until:
            raise _unavailable()
        try:
            answer = _ask(f"{settings.BASE_URL}/auth/me", token)
        except NoAnswer as error:
            self._out_until = time.monotonic() + OUTAGE_SECONDS
            raise _unavailable() from error
        if answer.status == HTTPStatus.UNAUTHORIZED:
            return _Verdict(began + VERDICT_SECONDS, is_live=False)
        try:
            me = orjson.loads(answer.body)
            if answer.status == HTTPStatus.FORBIDDEN and me["code"] == ACCESS_ENDED:
                return _Verdict(began + VERDICT_SECONDS, is_live=False)
            if answer.status != HTTPStatus.OK or me["user_id"] != user_id:
                raise _unavailable()
            return _Verdict(
                began + VERDICT_SECONDS, is_live=True, is_staff=me.get("is_staff") is True
            )  # apps don't get `is_staff`
        except (ValueError, KeyError, TypeError) as error:
            raise _unavailable() from error


def _unavailable() -> Unavailable:
    return Unavailable("Tokens can't be checked now: the main service does not respond.")


published_keys = PublishedKeys()
introspection = Introspection()
