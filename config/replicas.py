"""Answering reads from replicas (`DATABASE_REPLICA_URLS`).

# Note [What a replica answers]

An endpoint that declares `from_replica` may be answered by a replica, which may lag by `replication.MAX_LAG_SECONDS`.
Nobody who knows of a change is shown what was before it, because

- whoever has just written reads from the primary: the caller of a request that changes something, and the accounts
  that events tell of, from before the event is told to anybody (`own_writes`);
- a replica is asked about the caller's own records and about what is public. What belongs to somebody else is read,
  and shown or not, by what holds on the primary now (`leave`);
- credentials, permissions and keys of idempotency are never read from a replica (`routers.ReplicaRouter`), nor is
  anything in a transaction, or after the first write of a request;
- a refusal is never a replica's word. When the answer is an error, or the replica fails, the primary is asked.
"""

import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connections

from config import own_writes, replication
from config.api.errors import ApiError

logger = logging.getLogger("platform.replication")

Answer = TypeVar("Answer")

_reading_from: ContextVar[str | None] = ContextVar("reading_from", default=None)


def reading_from() -> str | None:
    """Return the alias of the replica that this request reads from; None means the primary."""
    return _reading_from.get()


def leave() -> bool:
    """Read from the primary for the rest of this request; say whether it had been reading from a replica."""
    if _reading_from.get() is None:
        return False
    _reading_from.set(None)
    return True


def answer(account_id: int, work: Callable[[], Answer]) -> Answer:
    """Return what `work` returns, which only reads: from a replica where that is right, else from the primary."""
    alias = _choose(account_id) if settings.DATABASE_REPLICAS else None
    if alias is None:
        return work()
    token = _reading_from.set(alias)
    try:
        return work()
    except ApiError:
        if _reading_from.get() is None:
            raise
    except (DatabaseError, InterfaceError) as error:
        if _reading_from.get() is None:
            raise
        logger.warning("%s failed a read (%s): the primary serves it", alias, type(error).__name__)
        if isinstance(error, OperationalError | InterfaceError):
            replication.avoid(alias)
        connections[alias].close()
    finally:
        _reading_from.reset(token)
    return work()


def _choose(account_id: int) -> str | None:
    """Return the replica for an account, the same one while the same ones are usable, or None."""
    usable = [alias for alias in settings.DATABASE_REPLICAS if replication.is_usable(alias)]
    if not usable or own_writes.may_have_written(account_id):
        return None
    return usable[account_id % len(usable)]
