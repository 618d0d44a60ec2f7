"""Hashers: one for passwords, one for secrets that we made ourselves, and one for recovery codes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

from config.core.errors import Unavailable

# A hash takes 100 MiB and a core. A log-in waits for its turn, and the process keeps memory for other requests. If
# others wait already, it is a flood, and the request fails at once: each waiting request holds a thread.
HASHES_AT_ONCE = 2
WAITING_MAX = 2
WAIT_SECONDS = 3.0
_BUSY = "The server is processing too many log-ins. Retry later."

_turns = threading.BoundedSemaphore(HASHES_AT_ONCE)
_places = threading.BoundedSemaphore(HASHES_AT_ONCE + WAITING_MAX)


class PasswordHasher(Argon2PasswordHasher):
    """Argon2, by HASHES_AT_ONCE threads of a process; raises Unavailable when WAITING_MAX others wait already."""

    def encode(self, password: str, salt: str) -> str:
        with _turn():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with _turn():
            return super().verify(password, encoded)


@contextmanager
def _turn() -> Iterator[None]:
    if not _places.acquire(blocking=False):
        raise Unavailable(_BUSY)
    try:
        if not _turns.acquire(timeout=WAIT_SECONDS):
            raise Unavailable(_BUSY)
        try:
            yield
        finally:
            _turns.release()
    finally:
        _places.release()


class RecoveryCodeHasher(PasswordHasher):
    """Argon2id as OWASP's smallest setting has it: ten codes are hashed at a time.

    The numbers stay as they are. A code is looked for by its hash, and with other numbers no code would be found.
    """

    algorithm = "recovery_code"
    time_cost, memory_cost, parallelism = 2, 19_456, 1


class RandomSecretHasher(PBKDF2PasswordHasher):
    """One round: a client secret is 384 random bits, which no number of rounds makes harder to guess."""

    algorithm = "random_secret"
    iterations = 1
