"""Hashers for passwords, for generated secrets, and for recovery codes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

from config.core.errors import Unavailable

# A hash needs 100 MiB and a core, so a process computes only 2 hashes at a time. Further log-ins wait. A waiting
# request occupies a thread, so requests above WAITING_MAX fail immediately.
HASHES_AT_ONCE = 2
WAITING_MAX = 2
WAIT_SECONDS = 3.0
_BUSY = "The server is processing too many log-ins. Retry later."

_turns = threading.BoundedSemaphore(HASHES_AT_ONCE)
_places = threading.BoundedSemaphore(HASHES_AT_ONCE + WAITING_MAX)


class PasswordHasher(Argon2PasswordHasher):
    """Argon2 with at most HASHES_AT_ONCE hashes at a time. Raises Unavailable if WAITING_MAX requests already wait."""

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
    """Argon2id with OWASP's smallest parameters, because ten codes are hashed at a time.

    Never change the parameters, because codes are looked up by hash, and the hash depends on the parameters.
    """

    algorithm = "recovery_code"
    time_cost, memory_cost, parallelism = 2, 19_456, 1


class RandomSecretHasher(PBKDF2PasswordHasher):
    """PBKDF2 with one round: a client secret has 384 random bits, so more rounds add no security."""

    algorithm = "random_secret"
    iterations = 1
