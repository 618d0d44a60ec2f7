"""Rate limits across all workers without a database write per request.

A worker reserves permits from the shared counter in batches. The first batch is one permit. Each later batch is twice
as large, up to LOT_MAX, and at most 1/32 of the remaining permits. The sum of all batches never exceeds the limit, so
the limit is exact. A worker's unused permits expire at the end of the minute.

Limits with a window longer than a minute reserve each permit separately (`consume_singly`).
"""

import hashlib
import logging
import threading
import time
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import OperationalError, connection
from rest_framework.throttling import BaseThrottle

from config.api.models import RateCounter
from config.core.credentials import SAFE_METHODS
from config.core.databases import UNAWAITED, is_disk_full
from config.core.errors import ApiError
from config.core.proxies import client_address
from config.env import address_of

logger = logging.getLogger("platform.rate_limits")

WINDOW_SECONDS = 60
# Windows in seconds. `login_failure` limits the failures of an IP address. Otherwise, a single address could exhaust
# `login_name` and lock out the account.
_LONG_WINDOWS_SECONDS = {
    "login_failure": 900, "login_name": 3600, "mail_recipient": 3600, "mail_own": 3600, "mail_address": 3600,
    "mail_account": 3600, "new_account": 3600,
}  # fmt: skip
LOT_MAX = 64
_LOT_SHARE = 32
# An IPv6 household has a /64 network, and a company site has a /48 network.
_NETWORK_BITS, _ANONYMOUS_NETWORK_BITS = 64, 48
REDIS_AVOIDED_SECONDS = 5.0
_KEPT_BUCKETS = 10_000  # a worker that has more counters discards all of them
_BUCKET_MAX_LENGTH = 160  # the length of the database column


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


def consume(limit_name: str, whom: str, *, permits: int = 1, now: float | None = None) -> None:
    """Consume permits of a limit per minute (a key of `settings.RATE_LIMITS`). Raises RateLimited.

    If fewer than `permits` remain, no permits are consumed.
    """
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
        if lot.left >= permits:
            lot.left -= permits
            return
        size = max(lot.size, permits - lot.left)
        exhausted = lot.exhausted
    # Release the lock during the round trip, so that this worker's other requests can continue.
    if not exhausted:
        used = take(_bucket(limit_name, whom), window, size)
        granted = max(0, min(size, limit - (used - size)))
        with _lock:
            lot.exhausted = used >= limit
            lot.size = max(1, min(size * 2, LOT_MAX, (limit - used) // _LOT_SHARE))
            lot.left += granted
            if lot.left >= permits:
                lot.left -= permits
                return
    raise _refusal(limit_name, limit, WINDOW_SECONDS, WINDOW_SECONDS - second)


def network_of(address: str, bits: int = _NETWORK_BITS) -> str:
    """Return the network of an IPv6 address with a prefix of `bits` bits. Return other text unchanged."""
    # A dual-stack socket maps IPv4 addresses into a single /96 network, so `address_of` converts them to IPv4.
    parsed = address_of(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((int(parsed), bits), strict=False))
    return str(parsed or address)


def consume_by_address(limit_name: str, request: Any, *, permits: int = 1) -> None:
    """Consume permits for the caller's IP address. Raises RateLimited if too few permits remain."""
    bits = _NETWORK_BITS if limit_name == "token" else _ANONYMOUS_NETWORK_BITS
    whom = network_of(client_address(request), bits)
    if limit_name in _LONG_WINDOWS_SECONDS:
        consume_singly(limit_name, whom)
    else:
        consume(limit_name, whom, permits=permits)


def consume_singly(limit_name: str, whom: str) -> None:
    """Consume one permit of a window longer than a minute. Raises RateLimited."""
    _, refusal = try_once(limit_name, whom)
    if refusal is not None:
        raise refusal


def try_once(limit_name: str, whom: str) -> tuple[tuple[str, int] | None, RateLimited | None]:
    """Count an attempt in a window longer than a minute.

    Return the counter, and an instance of RateLimited if the count is above the limit.

    The counter's key is the window's last minute, so that pruning does not delete the counter early.
    """
    limit: int | None = settings.RATE_LIMITS[limit_name]
    if limit is None:
        return None, None
    length, now = _LONG_WINDOWS_SECONDS[limit_name], time.time()
    end = (int(now // length) + 1) * length
    counter = _bucket(limit_name, whom), end // WINDOW_SECONDS - 1
    is_refused = take(*counter, 1) > limit
    return counter, _refusal(limit_name, limit, length, int(end - now) + 1) if is_refused else None


class RateLimit(BaseThrottle):
    """Consumes one permit of the endpoint's limit per request.

    The permits belong to the account. Without a credential, the permits belong to the IP address. A partner that acts
    on behalf of the account also consumes a permit.
    """

    def allow_request(self, request: Any, view: Any) -> bool:
        declared, is_safe = view.declared, request.method in SAFE_METHODS
        try:
            if request.auth is None:
                consume_by_address(declared.limit or "anonymous", request)
            elif request.method.lower() in view.action_map:  # for other methods, REST framework returns 405
                limit = declared.limit or ("read" if is_safe else view.write_limit)
                consume(limit, str(request.auth.user_id))
                if request.auth.actor_id is not None:
                    consume(limit, str(request.auth.actor_id))
        except OperationalError as error:
            # If the disk is full, reads continue without a limit.
            if not is_safe or not is_disk_full(error):
                raise
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
    """Add `count` to the shared counter, and return its new value.

    The counter is in Redis if `REDIS_URL` is set and Redis is available, otherwise in the database. The statement is
    not part of the request's transaction, so the limit also counts requests that are rolled back. The commit does not
    wait for a standby (`UNAWAITED`), because reads must not wait for a standby.
    """
    if settings.REDIS_URL:
        used = _take_from_redis(bucket, window, count)
        if used is not None:
            return used
    table = RateCounter._meta.db_table
    returned = f"used, {UNAWAITED}" if connection.vendor == "postgresql" else "used"
    with connection.cursor() as cursor:
        # The ORM has no upsert that returns the new value.
        cursor.execute(
            f"INSERT INTO {table} (bucket, {connection.ops.quote_name('window')}, used) VALUES (%s, %s, %s) "  # noqa: S608
            f"ON CONFLICT (bucket, {connection.ops.quote_name('window')}) "
            f"DO UPDATE SET used = {table}.used + excluded.used RETURNING {returned}",
            [bucket, window, count],
        )
        return int(cursor.fetchone()[0])


def _take_from_redis(bucket: str, window: int, count: int) -> int | None:
    from redis.exceptions import RedisError  # only installations with REDIS_URL need this module

    global _redis_avoided_until  # noqa: PLW0603  all requests of a process share this time
    if time.monotonic() < _redis_avoided_until:
        return None
    name = f"rate:{window}:{hashlib.sha256(bucket.encode()).hexdigest()}"
    try:
        cache.add(name, 0, timeout=max(2 * WINDOW_SECONDS, int((window + 2) * WINDOW_SECONDS - time.time())))
        return int(cache.incr(name, count))
    except ValueError:
        return None  # the cache evicted the key between `add` and `incr`
    except (RedisError, OSError) as error:
        # Each request would wait for the Redis timeout, so avoid Redis for a while.
        _redis_avoided_until = time.monotonic() + REDIS_AVOIDED_SECONDS
        logger.warning("Redis does not respond (%s): rate limits are counted in the database", type(error).__name__)
        return None
