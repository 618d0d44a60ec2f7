"""Group commit: the requests that wait at the same time are sealed together, in one block.

The first request to come leads: it locks the log, takes everything that is queued by then, seals it in one transaction
and wakes the others with their receipts. Requests that came meanwhile are the next block, led by the first of them, so
no request leads for longer than one block or waits for more than two. It has no thread of its own and no delay: a
single request is sealed at once; under load, blocks grow by themselves.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence

from ledger.entries import Receipt, Submission
from ledger.errors import LogUnavailableError
from ledger.sealing import Take, seal

Seal = Callable[[Take], list[Receipt]]

# A block is computed and sent under the log's lock; this bounds how long that takes.
MAX_BLOCK_ENTRIES = 5_000
# Within the 30 s that a request has. An abandoned request may still be sealed. It was not acknowledged, and its retry
# returns the receipt.
WAIT_SECONDS = 25.0


class _Waiting:
    """One request in the queue: what it brings, and what became of it."""

    def __init__(self, submissions: Sequence[Submission]) -> None:
        self.submissions = submissions
        self.receipts: list[Receipt] = []
        # The result unless the block is sealed: it remains if an unforeseen error ends the leader.
        self.error: Exception | None = LogUnavailableError()
        self.leads = False
        # Held until there is news; a bare lock wakes a waiter for a fraction of what an Event costs.
        self._news = threading.Lock()
        self._news.acquire()

    def wait(self, seconds: float) -> bool:
        """Wait for news: the receipts, an error, or the order to lead. False when none came in time."""
        return self._news.acquire(timeout=seconds)

    def notify(self) -> None:
        self._news.release()


class GroupCommit:
    def __init__(self, seal_block: Seal = seal) -> None:
        self._seal = seal_block
        self._lock = threading.Lock()
        self._queue: deque[_Waiting] = deque()
        self._led = False

    @property
    def is_busy(self) -> bool:
        return self._led

    def anchor(self, submissions: Sequence[Submission]) -> list[Receipt]:
        """Seal the submissions with all other waiting ones; receipts in order, once the block is committed.

        All of them are in one block. All requests of the block get an exception of `sealing.seal`.
        """
        request = _Waiting(submissions)
        with self._lock:
            self._queue.append(request)
            leads, self._led = not self._led, True
        if not leads:
            if not request.wait(WAIT_SECONDS) and not self._give_up(request):
                raise LogUnavailableError
            leads = request.leads
        if leads:
            self._lead(request)
        if request.error is not None:
            raise request.error
        return request.receipts

    def _give_up(self, request: _Waiting) -> bool:
        """Leave the queue after waiting in vain; True when news came at the last moment after all."""
        with self._lock:
            if request in self._queue and not request.leads:
                self._queue.remove(request)
                return False
        return request.wait(0)

    def _lead(self, leader: _Waiting) -> None:
        """Seal one block of the waiting submissions, pass the result to each, and hand over the lead."""
        block: list[_Waiting] = []

        def take() -> list[Submission]:
            with self._lock:
                block.extend(self._take())
            return [submission for request in block for submission in request.submissions]

        try:
            receipts = iter(self._seal(take))
            for request in block:
                request.receipts = [next(receipts) for _ in request.submissions]
                request.error = None
        except Exception as error:  # noqa: BLE001
            # An error of the block is an error of each of its requests, and each must get it. Without the database no
            # block can be made: waiting requests fail now, instead of trying one after the other.
            if not block:
                take()
            for request in block:
                request.error = error
        finally:
            with self._lock:
                self._led = bool(self._queue)
                if self._queue:
                    self._queue[0].leads = True
                    self._queue[0].notify()
            for request in block:
                if request is not leader:
                    request.notify()

    def _take(self) -> list[_Waiting]:
        block = [self._queue.popleft()]
        entries = len(block[0].submissions)
        while self._queue and entries + len(self._queue[0].submissions) <= MAX_BLOCK_ENTRIES:
            block.append(self._queue.popleft())
            entries += len(block[-1].submissions)
        return block


group_commit = GroupCommit()
