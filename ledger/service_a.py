"""Requests of the ledger to service A: its public keys, and whether a token is still valid.

A token lasts 15 minutes and is ended within five seconds: so A is queried about each one, with the token itself, every
few seconds. While A cannot be reached no token is accepted (503 `E5030`): no other service knows whether it was ended.
Listed keys need nothing of A, and go on.
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
# A key id that is not known is worth a new look, but strangers must not make us ask A at every request.
_JWKS_RETRY_SECONDS = 10.0
# With the three seconds for which A remembers a check, five in all (decisions, section 9).
VERDICT_SECONDS = 2.0
_VERDICTS_MAX = 20_000
# A request that waits for A holds a thread, which listed keys need. After a failure none waits that long.
OUTAGE_SECONDS = 1.0
ACCESS_ENDED = "E2013"  # service A's code for a partner whom the person no longer lets act


def _ask(address: str, token: str = "") -> Answer:
    """GET, with the token of the caller if there is one; raises NoAnswer."""
    return exchange(
        "GET",
        address,
        headers={"Authorization": f"Bearer {token}"} if token else None,
        seconds=_SECONDS,
        max_bytes=_ANSWER_MAX_BYTES,
        ca_file=settings.PLATFORM_CA_FILE,
    )


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
    """Whether tokens still count, as service A said within the last VERDICT_SECONDS."""

    def __init__(self) -> None:
        self._verdicts: dict[str, _Verdict] = {}
        self._out_until = float("-inf")

    def check(self, token: str, user_id: str) -> bool:
        """Whether the token's user is staff now. Raises InvalidToken when it was ended, Unavailable when A is silent.

        The token's signature and claims have been checked already: what strangers make up never reaches A.
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
        """Present the token to A as its holder would."""
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
            )  # an app does not get it
        except (ValueError, KeyError, TypeError) as error:
            raise _unavailable() from error


def _unavailable() -> Unavailable:
    return Unavailable(
        "Tokens cannot be checked now: the main service does not answer whether this one is still valid."
    )


published_keys = PublishedKeys()
introspection = Introspection()
