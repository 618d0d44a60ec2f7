"""Slots for heavy operations, which can need more than 50 ms of CPU.

An account has one slot across all processes, and a process has two slots. An operation acquires its slot after
authorization, and after it has loaded its data: `with slot(request):`. If parsing a large body is the work,
`@operation(when=…)` acquires the slot. Idempotent operations also need `@operation()`: their method runs in a
transaction, whose rollback would undo the count of slots. If no slot is free, a request waits up to WAIT_SECONDS. A
waiting request occupies a thread, so at most WAITERS requests wait per process, and at most one per account.

The shared counter of the rate limits stores an account's slot for the minute in which the work began. The previous
minute also counts, because a request can last a minute. So the slot of a killed process is free after at most 2
minutes.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from typing import Any

from django.db import DatabaseError, connection

from config.api.rate_limits import WINDOW_SECONDS, RateLimited, network_of, take
from config.core.errors import Unavailable
from config.core.json_bodies import BODY_MAX_BYTES
from config.core.proxies import client_address

AT_ONCE = 2  # a process runs at most this number of heavy operations
WAITERS = 4  # half of the threads of a process
WAIT_SECONDS, _LOOK_SECONDS = 1.0, 0.1
RETRY_SECONDS = 1

Method = Callable[..., Any]

_slots = threading.BoundedSemaphore(AT_ONCE)
_waiting: set[str] = set()
_waiting_lock = threading.Lock()


def operation(when: Callable[[Any], bool] = lambda _request: True) -> Callable[[Method], Method]:
    """Acquire a slot for each request for which `when` returns True.

    Place this decorator above `@endpoint`, so that the slot also covers parsing the body.
    """

    def decorate(handle: Method) -> Method:
        @wraps(handle)
        def handle_in_slot(view: Any, request: Any, **arguments: Any) -> Any:
            with slot(request) if when(request) else nullcontext():
                return handle(view, request, **arguments)

        return handle_in_slot

    return decorate


@contextmanager
def slot(request: Any) -> Iterator[None]:
    """Acquire a slot for the block. Raises RateLimited or Unavailable if no slot is free within WAIT_SECONDS."""
    # The slot belongs to the account, to a key of the ledger, or to an IP address.
    key = request.auth
    whom = network_of(client_address(request)) if key is None else str(key.user_id or key.label)
    with _slot_of_account(whom):
        if not _wait_for(lambda: _slots.acquire(blocking=False), whom):
            raise Unavailable("The server is processing other large requests. Retry later.")
        try:
            yield
        finally:
            _slots.release()


def _wait_for(take_slot: Callable[[], bool], whom: str) -> bool:
    """Acquire a slot immediately or after a wait. Return False if the wait ends without a slot."""
    if take_slot():
        return True
    with _waiting_lock:
        if whom in _waiting or len(_waiting) >= WAITERS:
            return False
        _waiting.add(whom)
    try:
        ends = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < ends:
            time.sleep(_LOOK_SECONDS)
            if take_slot():
                return True
        return False
    finally:
        _waiting.discard(whom)


@contextmanager
def _slot_of_account(whom: str) -> Iterator[None]:
    bucket, window = f"heavy:{whom}", int(time.time()) // WINDOW_SECONDS

    def take_slot() -> bool:
        if take(bucket, window, 1) + take(bucket, window - 1, 0) == 1:
            return True
        take(bucket, window, -1)
        return False

    try:
        is_taken = _wait_for(take_slot, whom)
    except DatabaseError:  # a ledger with a read-only database must still verify proofs
        yield
        return
    if not is_taken:
        message = (
            "Another large request of your account is running. Send this request after the response to that request."
        )
        raise RateLimited(message, headers={"Retry-After": str(RETRY_SECONDS)})
    try:
        yield
    finally:
        _release_slot(bucket, window)


def _release_slot(bucket: str, window: int) -> None:
    try:
        take(bucket, window, -1)
    except DatabaseError:
        # `config.core.deadline` may have closed the connection of a slow request, so use a new connection.
        if not connection.in_atomic_block:
            connection.close()
            with suppress(DatabaseError):
                take(bucket, window, -1)


def has_large_body(request: Any) -> bool:
    return int(request.META.get("CONTENT_LENGTH") or 0) > BODY_MAX_BYTES
