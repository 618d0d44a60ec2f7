"""Rate limits, counted across all workers without a database write per request.

A worker takes permits from the shared counter in lots: the first lot is one permit, each later one twice as large, up
to LOT_MAX and never more than a thirty-second of what the window has left. The sum of all lots never exceeds the
limit, so the limit is never exceeded either, however many workers there are; what a worker has left at the end of the
minute is lost to it, which is why lots shrink near the end.

Tries to log in are counted one by one, before the password is looked at: `login_attempt`.
"""

import hashlib
import logging
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from rest_framework.throttling import BaseThrottle

from config.api.credentials import SAFE_METHODS
from config.api.middleware import client_address
from config.api.models import RateCounter
from config.core.errors import ApiError, Unavailable
from config.core.redis import failures

logger = logging.getLogger("platform.rate_limits")

WINDOW_SECONDS = 60
# The first is so long that one address alone never reaches the second, which would shut a person out.
_LOGIN_WINDOWS_SECONDS = {"login_failure": 900, "login_name": 3600}
LOT_MAX = 64
_LOT_SHARE = 32
REDIS_AVOIDED_SECONDS = 5.0
_KEPT_BUCKETS = 10_000  # per worker; older windows are dropped first
_BUCKET_MAX_LENGTH = 160  # of the column


class RateLimited(ApiError):
    status, error, code = 429, "rate_limited", "E6001"
    message = "Too many requests. Wait for the time in Retry-After."


@dataclass(slots=True)
class _Lot:
    window: int
    left: int = 0
    size: int = 1
    exhausted: bool = False


_redis_avoided_until = 0.0
_lots: dict[tuple[str, str], _Lot] = {}
_lock = threading.Lock()


def forget_lots() -> None:
    """Drop what this process holds; tests and forked workers start from the shared counters."""
    with _lock:
        _lots.clear()


def consume(limit_name: str, whom: str, *, now: float | None = None) -> None:
    """Take one permit of a minute's limit (a key of `settings.RATE_LIMITS`); raises RateLimited when none is left."""
    limit = settings.RATE_LIMITS[limit_name]
    if limit is None:
        return
    window, second = divmod(int(time.time() if now is None else now), WINDOW_SECONDS)
    with _lock:
        lot = _lots.get((limit_name, whom))
        if lot is None or lot.window != window:
            if len(_lots) >= _KEPT_BUCKETS:
                _lots.clear()
            lot = _lots[limit_name, whom] = _Lot(window)
        if lot.left > 0:
            lot.left -= 1
            return
        size = lot.size
        exhausted = lot.exhausted
    # Outside the lock: other callers of this worker must not wait for one caller's round trip.
    if not exhausted:
        used = take(_bucket(limit_name, whom), window, size)
        granted = max(0, min(size, limit - (used - size)))
        with _lock:
            lot.exhausted = used >= limit
            lot.size = max(1, min(size * 2, LOT_MAX, (limit - used) // _LOT_SHARE))
            if granted > 0:
                lot.left += granted - 1
                return
    raise _refusal(limit_name, limit, WINDOW_SECONDS, WINDOW_SECONDS - second)


class RateLimit(BaseThrottle):
    """One permit of the endpoint's limit per request: for the credential, or for the address where there is none."""

    def allow_request(self, request: Any, view: Any) -> bool:
        declared = view.declared
        if request.auth is None:
            consume(declared.limit or "anonymous", client_address(request))
        elif request.method.lower() in view.action_map:  # else REST framework answers 405 next
            limit = declared.limit or ("read" if request.method in SAFE_METHODS else view.write_limit)
            consume(limit, request.auth.label)
        return True


def _bucket(limit_name: str, whom: str) -> str:
    name = f"{limit_name}:{whom}"
    return name if len(name) <= _BUCKET_MAX_LENGTH else f"{limit_name}:{hashlib.sha256(whom.encode()).hexdigest()}"


def _refusal(limit_name: str, limit: int, length: int, seconds_left: int) -> RateLimited:
    return RateLimited(
        headers={
            "Retry-After": str(seconds_left),
            "RateLimit-Policy": f'"{limit_name}";q={limit};w={length}',
            "RateLimit": f'"{limit_name}";r=0;t={seconds_left}',
        }
    )


def take(bucket: str, window: int, count: int) -> int:
    """Add `count` to the shared counter and return its new value.

    The counter lives in Redis when `REDIS_URL` is set, else, and while Redis is away, in the database. The statement
    commits by itself: a limit counts tries, also those that are rolled back.
    """
    if settings.REDIS_URL:
        used = _take_from_redis(bucket, window, count)
        if used is not None:
            return used
    table = RateCounter._meta.db_table
    with connection.cursor() as cursor:
        # The ORM has no upsert that returns the new value.
        cursor.execute(
            f"INSERT INTO {table} (bucket, {connection.ops.quote_name('window')}, used) VALUES (%s, %s, %s) "  # noqa: S608
            f"ON CONFLICT (bucket, {connection.ops.quote_name('window')}) "
            f"DO UPDATE SET used = {table}.used + excluded.used RETURNING used",
            [bucket, window, count],
        )
        return int(cursor.fetchone()[0])


def _take_from_redis(bucket: str, window: int, count: int) -> int | None:
    global _redis_avoided_until  # noqa: PLW0603  one fact per process
    if time.monotonic() < _redis_avoided_until:
        return None
    name = f"rate:{window}:{hashlib.sha256(bucket.encode()).hexdigest()}"
    try:
        cache.add(name, 0, timeout=max(2 * WINDOW_SECONDS, int((window + 2) * WINDOW_SECONDS - time.time())))
        return int(cache.incr(name, count))
    except ValueError:
        return None  # thrown out between the two for want of room
    except failures() as error:
        # Each try could last as long as its time-out, and calls wait for it.
        _redis_avoided_until = time.monotonic() + REDIS_AVOIDED_SECONDS
        logger.warning("Redis does not answer (%s): rate limits are counted in the database", type(error).__name__)
        return None


@contextmanager
def login_attempt(name: str, address: str) -> Iterator[None]:
    """Hold one try to log in as `name` from `address`; what the block raises says that it failed.

    A try is counted before the password is looked at, so that guesses made at once are no more than the limit either,
    and taken back when it succeeds. Raises RateLimited when there were too many failures: `login_failure` of one name
    from one address, `login_name` of one name from everywhere. A try that the first refuses does not count for the
    second: one address cannot use up a name's.
    """
    # As the pages look names up, and in one case: no other spelling of a name may be another try.
    person = unicodedata.normalize("NFKC", name).strip().casefold()
    counted: list[tuple[str, int]] = []
    try:
        for limit_name, whom in (("login_failure", f"{address} {person}"), ("login_name", person)):
            limit = settings.RATE_LIMITS[limit_name]
            if limit is None:
                continue
            length, now = _LOGIN_WINDOWS_SECONDS[limit_name], time.time()
            end = (int(now // length) + 1) * length
            # Named by its last minute, so that nobody forgets it before it is over.
            counted.append((_bucket(limit_name, whom), end // WINDOW_SECONDS - 1))
            if take(*counted[-1], 1) > limit:
                raise _refusal(limit_name, limit, length, int(end - now) + 1)
        yield
    except (RateLimited, Unavailable):
        _give_back(counted)  # no password was looked at
        raise
    _give_back(counted)


def _give_back(counted: list[tuple[str, int]]) -> None:
    for bucket, window in counted:
        take(bucket, window, -1)
