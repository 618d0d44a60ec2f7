"""Heavy operations: those that cost more than 50 ms of CPU at their largest input.

An account has one slot, in all processes together, and a process has two. An operation takes its slot around the work,
after authorization and loading: `with slot(request):`. Where the work is to read a large body, `@operation(when=…)`
takes it. Others wait up to WAIT_SECONDS; a waiting request occupies a thread, so few wait: WAITERS, one per account.

The account's slot is a count in the shared counter of the rate limits. It belongs to the minute in which the work
began; the minute before counts, too, because no request lasts longer. The slot of a killed process ends after two
minutes at most.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any

from django.db import DatabaseError

from config.api.middleware import client_address
from config.api.parsers import BODY_MAX_BYTES
from config.api.rate_limits import WINDOW_SECONDS, RateLimited, network_of, take
from config.core.errors import Unavailable

AT_ONCE = 2  # in one process
RETRY_SECONDS = 1

Method = Callable[..., Any]

_turns = threading.BoundedSemaphore(AT_ONCE)


def operation(when: Callable[[Any], bool] = lambda _request: True) -> Callable[[Method], Method]:
    """Take a slot for requests of which `when` is true. It stands above `@endpoint`: the work includes the body."""

    def decorate(handle: Method) -> Method:
        @wraps(handle)
        def handle_in_turn(view: Any, request: Any, **arguments: Any) -> Any:
            with turn(request) if when(request) else nullcontext():
                return handle(view, request, **arguments)

        handle_in_turn.is_heavy = True  # type: ignore[attr-defined]
        return handle_in_turn

    return decorate


@contextmanager
def turn(request: Any) -> Iterator[None]:
    """Hold a turn while the block works; raises Unavailable or RateLimited at once."""
    if not _turns.acquire(blocking=False):
        raise Unavailable("Other large requests are being worked on. Try again.")
    try:
        with _turn_of(_account_of(request)):
            yield
    finally:
        _turns.release()


@contextmanager
def _turn_of(whom: str) -> Iterator[None]:
    bucket, window = f"heavy:{whom}", int(time.time()) // WINDOW_SECONDS
    try:
        running = take(bucket, window, 1)
    except DatabaseError:  # a log that cannot write goes on checking proofs
        yield
        return
    try:
        if running + take(bucket, window - 1, 0) > 1:
            message = "Your account has another large request running. Send this one when that is answered."
            raise RateLimited(message, headers={"Retry-After": str(RETRY_SECONDS)})
        yield
    finally:
        take(bucket, window, -1)


def _account_of(request: Any) -> str:
    """Name whose slot it is: the account with all its credentials, a key of the ledger, or an address."""
    if request.auth is None:
        return network_of(client_address(request))
    return str(request.auth.user_id or request.auth.label)


def has_large_body(request: Any) -> bool:
    return int(request.META.get("CONTENT_LENGTH") or 0) > BODY_MAX_BYTES
