"""Hashers: one for passwords, and one for secrets that we made ourselves."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

from config.core.errors import Unavailable

# A hash takes 100 MiB and a core: who logs in waits for a turn, and the process keeps room for everybody else.
HASHES_AT_ONCE = 2
# Longer than the threads of a process need one after another; who is still waiting then is one of a flood.
WAIT_SECONDS = 3.0

_turns = threading.BoundedSemaphore(HASHES_AT_ONCE)


class PasswordHasher(Argon2PasswordHasher):
    """Argon2, by HASHES_AT_ONCE threads of a process; raises Unavailable when no turn comes in time."""

    def encode(self, password: str, salt: str) -> str:
        with _turn():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with _turn():
            return super().verify(password, encoded)


@contextmanager
def _turn() -> Iterator[None]:
    if not _turns.acquire(timeout=WAIT_SECONDS):
        raise Unavailable("Too many people are logging in at this moment. Try again.")
    try:
        yield
    finally:
        _turns.release()


class RandomSecretHasher(PBKDF2PasswordHasher):
    """One round: a client secret is 384 random bits, which no number of rounds makes harder to guess."""

    algorithm = "random_secret"
    iterations = 1
