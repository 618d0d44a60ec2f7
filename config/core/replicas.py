"""Answering reads from streaming replicas (`DATABASE_REPLICA_URLS`), behind Django's router.

# Note [What a replica answers]

A GET that names an account may be answered by a replica, which may lag by MAX_LAG_SECONDS. It is decided once, before
the view's method runs (`answer`).

- Everybody sees their own writes. Whoever has just written reads from the primary: the caller of a request that changes
  something, and the accounts that events tell of, from before the event is told to anybody (`remember_writers`).
- What somebody else has just changed, or made private, may be seen as it was for MAX_LAG_SECONDS.
- Credentials, permissions, keys of idempotency and queues are read from the primary: replicas answer for the apps of
  REPLICATED_APPS alone. So is everything in a transaction, and after the first write of a request.
- A refusal is never a replica's word. When the answer is an error, or the replica fails, the primary is asked.

# Note [How far behind a replica is]

The time of the last replayed transaction says nothing while nobody writes, and clocks of two machines differ. Positions
in the write-ahead log do neither: a thread for each replica asks the primary for its position, then the replica how far
it has replayed. Once that is past a position, the replica holds everything that was committed before the position was
asked for. Only this process's monotonic clock is read.

What is known grows old by itself. A replica that hangs, was promoted, belongs to another cluster, or is watched by
nobody (a management command) is not read from.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar
from uuid import uuid4

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, OperationalError, connections
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.core.errors import ApiError
from config.core.redis import failures

logger = logging.getLogger("platform.replication")

Answer = TypeVar("Answer")

# A replica that may lack what was committed longer ago than this is not read from.
MAX_LAG_SECONDS = 5.0
LOOK_EVERY_SECONDS = 1.0
# How long a replica that failed a request is left alone.
AVOID_SECONDS = 5.0
# A second more than a replica may be behind: Redis counts with a clock of its own.
WRITERS_REMEMBERED_SECONDS = 6
_POSITIONS_MAX = 64  # as many looks as a replica may fall behind and still be placed
_MEMORY = "own-writes:memory"  # a name that Redis keeps for as long as it forgets nothing


@dataclass(slots=True)
class _Reading:
    alias: str
    was_asked: bool = False


_reading: ContextVar[_Reading | None] = ContextVar("reading", default=None)


def answer(account_id: int, work: Callable[[], Answer]) -> Answer:
    """Return what `work` returns, which only reads: from a replica where that is right, else from the primary.

    `work` is called a second time when the first ended with an error and a replica had been asked.
    """
    alias = choose(account_id)
    if alias is None:
        return work()
    reading = _Reading(alias)
    token = _reading.set(reading)
    try:
        return work()
    except ApiError as refusal:
        # A provider that does not answer (5xx) would not answer the second time either.
        if not reading.was_asked or _reading.get() is None or refusal.status >= 500:
            raise
    except (DatabaseError, InterfaceError) as error:
        if not reading.was_asked or _reading.get() is None:
            raise
        logger.warning("%s failed a read (%s): the primary serves it", alias, type(error).__name__)
        if isinstance(error, OperationalError | InterfaceError):
            avoid(alias)
        connections[alias].close()
    finally:
        _reading.reset(token)
    return work()


def choose(account_id: int) -> str | None:
    """Return the replica for an account, the same one while the same ones are usable, or None for the primary."""
    usable = [alias for alias in settings.DATABASE_REPLICAS if is_usable(alias)]
    if not usable or may_have_written(account_id):
        return None
    return usable[account_id % len(usable)]


class ReplicaRouter:
    """Sends what a request reads to the replica that was chosen for it, and everything else to `default`."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        """Return the replica, or `default`; records that belong to one that was read come from where that came from."""
        reading = _reading.get()
        if (
            reading is None
            or model._meta.app_label not in settings.REPLICATED_APPS
            or connections["default"].in_atomic_block
        ):
            return "default"
        instance = hints.get("instance")
        if instance is not None and instance._state.db != reading.alias:
            return "default"
        reading.was_asked = True
        return reading.alias

    def db_for_write(self, _model: type[Model], **_hints: Any) -> str:
        """Return `default`, from which the rest of the request is read too."""
        _reading.set(None)
        return "default"

    def allow_relation(self, _one: Model, _other: Model, **_hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, _app_label: str, **_hints: Any) -> bool | None:
        return False if db in settings.DATABASE_REPLICAS else None


# --- Who has just written: remembered in Redis by all processes together --------------------------------------------
#
# Nothing here raises because of Redis. While it does not answer, and for a while after it came back empty, everybody
# counts as somebody who has just written.

_memory = ""
_trusted_from = inf


class WriterMiddleware:
    """Remembers who sent a request that may have changed something; there where there are replicas."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        credential = getattr(request, "auth", None)
        if credential is not None and request.method not in {"GET", "HEAD", "OPTIONS"}:
            # Whatever the answer says: an error may come after something was stored.
            remember_writers([credential.user_id])
        return response


def _distrust() -> None:
    """Hold Redis's silence about an account for nothing, until whatever was written by now is on every replica."""
    global _trusted_from  # noqa: PLW0603  one fact per process
    _trusted_from = time.monotonic() + WRITERS_REMEMBERED_SECONDS


def look_at_memory() -> None:
    """Find out whether Redis is there and remembers; `watch` does so every second."""
    global _memory  # noqa: PLW0603
    try:
        found = str(cache.get_or_set(_MEMORY, lambda: str(uuid4()), timeout=None))
    except failures():
        _distrust()
        return
    if found != _memory:
        _memory = found
        _distrust()


def remember_writers(account_ids: Iterable[int]) -> None:
    """Remember that data of these accounts was written; costs nothing where there are no replicas."""
    if not (settings.DATABASE_REPLICAS and settings.REDIS_URL):
        return
    try:
        cache.set_many({f"own-writes:{one}": 1 for one in account_ids}, timeout=WRITERS_REMEMBERED_SECONDS)
    except failures() as error:
        logger.warning("Redis does not answer (%s): the primary serves all reads", type(error).__name__)
        _distrust()


def may_have_written(account_id: int) -> bool:
    """Say whether an account's data may have been written too recently for a replica; when in doubt, yes."""
    if not settings.REDIS_URL or time.monotonic() < _trusted_from:
        return True
    try:
        return cache.get(f"own-writes:{account_id}") is not None
    except failures():
        _distrust()
        return True


# --- How far each replica is ------------------------------------------------------------------------------------------

_holds_until: dict[str, float] = {}
_avoided_until: dict[str, float] = {}
_known_clusters: set[str] = set()  # of replicas that were found to be the primary's


def heard(alias: str, *, holds_until: float) -> None:
    _holds_until[alias] = holds_until


def avoid(alias: str) -> None:
    """Leave a replica alone for AVOID_SECONDS: it has failed."""
    _avoided_until[alias] = time.monotonic() + AVOID_SECONDS


def is_usable(alias: str) -> bool:
    """Say whether a replica is near enough to be read from, by what is known of it."""
    now = time.monotonic()
    return now - _holds_until.get(alias, -inf) <= MAX_LAG_SECONDS and now >= _avoided_until.get(alias, 0.0)


def position_of(text: str) -> int:
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


def watch(alias: str) -> None:
    """Look at one replica once a second, for as long as the process lives; what fails is tried again."""
    positions: deque[tuple[float, int]] = deque(maxlen=_POSITIONS_MAX)
    was_near = None
    while True:
        look_at_memory()
        try:
            _look(alias, positions)
        except (DatabaseError, InterfaceError) as error:
            logger.debug("%s cannot be looked at: %s", alias, error)
            _known_clusters.discard(alias)
            connections["default"].close()
            connections[alias].close()
        is_near = is_usable(alias)
        if is_near and not was_near:
            logger.info("%s is read from", alias)
        elif not is_near and was_near is not False:
            logger.warning("%s is down, behind or avoided: the primary serves its reads", alias)
        was_near = is_near
        time.sleep(LOOK_EVERY_SECONDS)


def _look(alias: str, positions: deque[tuple[float, int]]) -> None:
    """Ask primary and replica once; raises their errors. `positions` are the primary's, and when it was asked."""
    asked_at = time.monotonic()
    (written,) = _ask("default", "SELECT pg_current_wal_lsn()")
    positions.append((asked_at, position_of(written)))
    if alias not in _known_clusters:
        query = "SELECT system_identifier FROM pg_control_system()"
        if _ask("default", query) != _ask(alias, query):
            logger.error("%s is no replica of DATABASE_URL: nothing is read from it.", alias)
            return
        _known_clusters.add(alias)
    is_replica, replayed = _ask(alias, "SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn()")
    if not is_replica or replayed is None:
        heard(alias, holds_until=-inf)  # it was promoted: from here on it goes its own way
        return
    while positions and positions[0][1] <= position_of(replayed):
        heard(alias, holds_until=positions.popleft()[0])


def _ask(alias: str, query: str) -> tuple[str, ...]:
    with connections[alias].cursor() as cursor:
        cursor.execute(query)
        row: tuple[str, ...] = cursor.fetchone()
        return row


def start_watching() -> None:
    for alias in settings.DATABASE_REPLICAS:
        threading.Thread(target=watch, args=(alias,), name=f"watch-{alias}", daemon=True).start()
