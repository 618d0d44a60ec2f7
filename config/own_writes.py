"""Whose data was written just now: remembered in Redis by all processes together, for as long as a replica may lag.

Nothing here raises because of Redis. While it does not answer, and for a while after it came back empty, everybody
counts as somebody who has just written, and reads from the primary.
"""

import logging
import time
from collections.abc import Iterable
from math import inf
from uuid import uuid4

from django.conf import settings
from django.core.cache import cache

from config.redis import failures

logger = logging.getLogger("platform.replication")

# A second more than a replica may be behind (`replication.MAX_LAG_SECONDS`): Redis counts with a clock of its own.
REMEMBERED_SECONDS = 6
_MEMORY = "own-writes:memory"  # a name that Redis keeps for as long as it forgets nothing

_memory = ""
_trusted_from = inf


def _name(account_id: int) -> str:
    """Return the name under which an account's writing is remembered."""
    return f"own-writes:{account_id}"


def _distrust(now: float | None = None) -> None:
    """Hold Redis's silence about an account for nothing, until whatever was written by now is on every replica."""
    global _trusted_from  # noqa: PLW0603  one fact per process
    _trusted_from = (time.monotonic() if now is None else now) + REMEMBERED_SECONDS


def look_at_memory(now: float | None = None) -> None:
    """Find out whether Redis is there and remembers; `replication.Watch` does so every second."""
    global _memory  # noqa: PLW0603
    try:
        found = str(cache.get_or_set(_MEMORY, lambda: str(uuid4()), timeout=None))
    except failures():
        _distrust(now)
        return
    if found != _memory:
        _memory = found
        _distrust(now)


def remember(account_ids: Iterable[int]) -> None:
    """Remember that data of these accounts was written; costs nothing where there are no replicas."""
    if not (settings.DATABASE_REPLICAS and settings.REDIS_URL):
        return
    try:
        cache.set_many({_name(one): 1 for one in account_ids}, timeout=REMEMBERED_SECONDS)
    except failures() as error:
        logger.warning("Redis does not answer (%s): the primary serves all reads", type(error).__name__)
        _distrust()


def may_have_written(account_id: int) -> bool:
    """Say whether an account's data may have been written too recently for a replica; when in doubt, yes."""
    if not settings.REDIS_URL or time.monotonic() < _trusted_from:
        return True
    try:
        return cache.get(_name(account_id)) is not None
    except failures():
        _distrust()
        return True
