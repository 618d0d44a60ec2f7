"""Group commit: concurrent requests are sealed together in one block.

The first request becomes the leader. It locks the log, removes all requests from the queue, seals them in one
transaction, and notifies each request with its receipts. Requests that arrive during this time form the next block, and
the first of them becomes its leader. So a request waits for at most two blocks. A single request is sealed immediately,
without another thread. Under load, blocks become larger.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence

from ledger.entries import Receipt, Submission
from ledger.errors import LogUnavailableError
from ledger.sealing import Take, seal

Seal = Callable[[Take], list[Receipt]]

# The maximum number of entries in a block, which limits the time for which the block locks the log.
MAX_BLOCK_ENTRIES = 5_000
# A request has a limit of 30 s. An entry whose request times out may still be sealed. A retry of the request returns
# the receipt.
WAIT_SECONDS = 25.0


class _Waiting:
    """A request in the queue, with its submissions and its result."""

    def __init__(self, submissions: Sequence[Submission]) -> None:
        self.submissions = submissions
        self.receipts: list[Receipt] = []
        # If the leader stops before it sets a result, this error is the result.
        self.error: Exception | None = LogUnavailableError()
        self.leads = False
        # `notify` releases this lock. A plain lock wakes the waiting thread much faster than an Event.
        self._notification = threading.Lock()
        self._notification.acquire()

    def wait(self, seconds: float) -> bool:
        """Wait for receipts, an error, or the role of the leader. Returns False after the timeout."""
        return self._notification.acquire(timeout=seconds)

    def notify(self) -> None:
        self._notification.release()


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
        """Seal the submissions in one block with all other queued submissions. Return their receipts after the commit.

        If `sealing.seal` raises an exception, all requests of the block raise it.
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
        """Remove a timed-out request from the queue. Returns True if its result has just arrived."""
        with self._lock:
            if request in self._queue and not request.leads:
                self._queue.remove(request)
                return False
        return request.wait(0)

    def _lead(self, leader: _Waiting) -> None:
        """Seal one block of queued submissions, notify the block's requests, and make the next request the leader."""
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
            # An error applies to all requests of the block. If the error occurs before the block has any requests, all
            # queued requests fail together.
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
