"""The health check of the service, which responds within 2 s in every state of the database."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from config.api.serializers import ResponseSerializer, TextField
from config.api.views import ApiRequest, ApiViewSet, also_answers, endpoint
from config.core.credentials import PUBLIC
from config.ops.checks import disk_faults

logger = logging.getLogger("platform.health")

CHECK_SECONDS = 1.5
_MIGRATIONS_TRUSTED_SECONDS = 30.0

T = TypeVar("T")
_migrated_at: dict[str, float] = {}


class Checkup(Generic[T]):
    """Runs a database check, and shares its result with concurrent callers.

    The check runs in one thread, whose connections are closed after each result. So a hanging database blocks only one
    thread and one connection.
    """

    def __init__(self, question: Callable[[], T]) -> None:
        self._question = question
        self._lock = threading.Lock()
        self._answer: Future[T] | None = None
        self._began = 0.0

    def ask(self, *, seconds: float) -> T:
        """Return the check's result. Raises the check's exceptions, and TimeoutError after `seconds`.

        The time is measured from the start of the check, which an earlier caller may have started.
        """
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer, self._began = Future(), time.monotonic()
                # A daemon thread does not prevent the exit of the process if the database hangs.
                threading.Thread(target=self._run, args=(self._answer,), name="checkup", daemon=True).start()
            answer, left = self._answer, self._began + seconds - time.monotonic()
        return answer.result(timeout=max(0.0, left))

    def _run(self, answer: "Future[T]") -> None:
        try:
            result = self._question()
        except BaseException as error:  # noqa: BLE001  `ask` raises the exception in the thread of the caller
            answer.set_exception(error)
        else:
            answer.set_result(result)
        finally:
            connections.close_all()


def in_time(checkup: Checkup[T], *, seconds: float) -> T | None:
    """Return the result of a checkup. If the database does not respond in time, log a warning, and return None."""
    try:
        return checkup.ask(seconds=seconds)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("unhealthy: %s", type(error).__name__)
    except TimeoutError:
        logger.warning("unhealthy: the database does not respond within %s s", seconds)
    return None


class Vitals(NamedTuple):
    is_migrated: bool
    is_writable: bool


def examine(alias: str) -> Vitals:
    """Check a database. A `Checkup` must run this function, which may hang. Raises DatabaseError or InterfaceError."""
    connection = connections[alias]
    is_writable = _accepts_writes(connection)
    if time.monotonic() - _migrated_at.get(alias, float("-inf")) > _MIGRATIONS_TRUSTED_SECONDS:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return Vitals(is_migrated=False, is_writable=is_writable)
        _migrated_at[alias] = time.monotonic()
    return Vitals(is_migrated=True, is_writable=is_writable)


def _accepts_writes(connection: BaseDatabaseWrapper) -> bool:
    """Check whether the database accepts writes. Standbys and read-only databases do not."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SHOW transaction_read_only")
            return bool(cursor.fetchone()[0] == "off")
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute("ROLLBACK")
        except OperationalError as error:
            # If the error means that another process has the lock, the database accepts writes.
            code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
            return bool(code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
    return True


def _all_well() -> bool:
    if faults := disk_faults():
        logger.warning("unhealthy: %s", " ".join(faults))
        return False
    for alias in connections:
        vitals = examine(alias)
        if not all(vitals):
            wrong = f"{alias} is read-only" if vitals.is_migrated else f"migrations are pending on {alias}"
            logger.warning("unhealthy: %s", wrong)
            return False
    return True


_checkup = Checkup(_all_well)


def health_status() -> dict[str, Any]:
    is_healthy = in_time(_checkup, seconds=CHECK_SECONDS) is True
    return {
        "status": "healthy" if is_healthy else "unhealthy",
        "timestamp": timezone.now(),
        "version": settings.API_VERSION,
    }


class HealthSerializer(ResponseSerializer):
    """The health of the service."""

    status = TextField(
        help_text="The status of the service: `healthy`, or `unhealthy` when the database or the disk can't be used, "
        "or migrations are pending."
    )
    timestamp = serializers.DateTimeField(help_text="When the service responded (UTC).")
    version = TextField(help_text="The version of the API.")


class HealthViewSet(ApiViewSet):
    """The health of the service."""

    tag = "health"

    @also_answers(503, HealthSerializer, "The service is unhealthy. The body has the same fields.")
    @endpoint(access=PUBLIC, limit="health", answer=HealthSerializer)
    def check(self, request: ApiRequest) -> Response:  # noqa: ARG002
        """Check the health of the service.

        If the database does not respond, is read-only, or is not migrated, the API returns 503 with the same three
        fields. The API also returns 503 if a folder for files is not writable, or has less than 64 MiB of free space.
        """
        content = health_status()
        return Response(content, status=200 if content["status"] == "healthy" else 503)
