"""How far each replica is: looked at from outside the requests, once a second and process, by a thread per replica.

# Note [How far behind a replica is]

The time of the last replayed transaction says nothing while nobody writes, and clocks of two machines differ. Positions
in the write-ahead log do neither: the thread asks the primary for its position, then the replica how far it has
replayed. Once that is past a position, the replica holds everything that was committed before the position was asked
for. Only this process's monotonic clock is read.

What is known grows old by itself. A replica that hangs, was promoted, belongs to another cluster, or is watched by
nobody (a management command) is not read from.
"""

import logging
import threading
import time
from collections import deque
from math import inf

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections

from config import own_writes

logger = logging.getLogger("platform.replication")

# A replica that may lack what was committed longer ago than this is not read from.
MAX_LAG_SECONDS = 5.0
LOOK_EVERY_SECONDS = 1.0
# How long a replica that failed a request is left alone.
AVOID_SECONDS = 5.0
_POSITIONS_MAX = 64  # as many looks as a replica may fall behind and still be placed

_holds_until: dict[str, float] = {}
_avoided_until: dict[str, float] = {}


def heard(alias: str, *, holds_until: float) -> None:
    """Note that a replica holds everything that was committed before this moment of `time.monotonic`."""
    _holds_until[alias] = holds_until


def avoid(alias: str) -> None:
    """Leave a replica alone for AVOID_SECONDS: it has failed."""
    _avoided_until[alias] = time.monotonic() + AVOID_SECONDS


def is_usable(alias: str) -> bool:
    """Say whether a replica is near enough to be read from, by what is known of it."""
    now = time.monotonic()
    return now - _holds_until.get(alias, -inf) <= MAX_LAG_SECONDS and now >= _avoided_until.get(alias, 0.0)


def position_of(text: str) -> int:
    """Return a position in the write-ahead log, written `16/B374D848`, as a number."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


class Watch(threading.Thread):
    """Looks at one replica again and again; has connections of its own."""

    def __init__(self, alias: str) -> None:
        """Watch the replica with this alias once started; ends with the process."""
        super().__init__(name=f"watch-{alias}", daemon=True)
        self._alias = alias
        self._positions: deque[tuple[float, int]] = deque(maxlen=_POSITIONS_MAX)
        self._cluster_is_known = False
        self._was_near: bool | None = None

    def run(self) -> None:
        """Look until the process ends; what fails is tried again."""
        while True:
            own_writes.look_at_memory()
            try:
                self.look()
            except (DatabaseError, InterfaceError) as error:
                logger.debug("%s cannot be looked at: %s", self._alias, error)
                self._cluster_is_known = False
                self.hang_up()
            self._tell()
            time.sleep(LOOK_EVERY_SECONDS)

    def look(self) -> None:
        """Ask primary and replica once; raises their errors."""
        asked_at = time.monotonic()
        (written,) = self._ask("default", "SELECT pg_current_wal_lsn()")
        self._positions.append((asked_at, position_of(written)))
        if not self._cluster_is_known:
            query = "SELECT system_identifier FROM pg_control_system()"
            if self._ask("default", query) != self._ask(self._alias, query):
                logger.error("%s is no replica of DATABASE_URL: nothing is read from it.", self._alias)
                return
            self._cluster_is_known = True
        is_replica, replayed = self._ask(self._alias, "SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn()")
        if not is_replica or replayed is None:
            heard(self._alias, holds_until=-inf)  # it was promoted: from here on it goes its own way
            return
        while self._positions and self._positions[0][1] <= position_of(replayed):
            heard(self._alias, holds_until=self._positions.popleft()[0])

    def hang_up(self) -> None:
        """Close this thread's connections."""
        for alias in ("default", self._alias):
            connections[alias].close()

    def _ask(self, alias: str, query: str) -> tuple[str, ...]:
        """Return the one row of a query."""
        with connections[alias].cursor() as cursor:
            cursor.execute(query)
            row: tuple[str, ...] = cursor.fetchone()
            return row

    def _tell(self) -> None:
        """Log when the replica begins or ceases to be read from."""
        is_near = is_usable(self._alias)
        if is_near != self._was_near:
            logger.log(
                logging.INFO if is_near else logging.WARNING,
                "%s %s",
                self._alias,
                "is read from" if is_near else "is down, behind or avoided: the primary serves its reads",
            )
        self._was_near = is_near


def start_watching() -> None:
    """Watch every replica from this process; called by a server's worker when it starts, after it was forked."""
    for alias in settings.DATABASE_REPLICAS:
        Watch(alias).start()
