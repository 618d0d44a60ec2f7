"""A question that may hang, asked in a thread of its own and given up on after a deadline."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import connections

T = TypeVar("T")


class Checkup(Generic[T]):
    """Asks one question of a database, once at a time: who asks meanwhile gets the same answer.

    A database that hangs so costs one thread and one connection, however often it is asked about.
    """

    def __init__(self, question: Callable[[], T]) -> None:
        """Keep the question; it may use any connection, which is closed after each answer."""
        self._question = question
        self._lock = threading.Lock()
        self._answer: Future[T] | None = None
        self._began = 0.0

    def ask(self, *, seconds: float) -> T:
        """Return the answer. Raises what the question raises, and TimeoutError when it takes longer than `seconds`.

        The time counts from when the question was put, by whomever: no one waits for a second deadline to pass.
        """
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer, self._began = Future(), time.monotonic()
                # A daemon: a database that hangs must not keep the process from ending.
                threading.Thread(target=self._run, args=(self._answer,), name="checkup", daemon=True).start()
            answer, left = self._answer, self._began + seconds - time.monotonic()
        return answer.result(timeout=max(0.0, left))

    def _run(self, answer: "Future[T]") -> None:
        """Put the question and hand its answer, or what it raised, to everybody who waits."""
        try:
            found = self._question()
        except BaseException as error:  # noqa: BLE001  raised where the answer is waited for
            answer.set_exception(error)
        else:
            answer.set_result(found)
        finally:
            connections.close_all()
