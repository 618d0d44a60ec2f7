"""Is the service well? Answers within two seconds, whatever state the database is in."""

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers

from config.api.credentials import PUBLIC
from config.api.fields import TextField
from config.api.renderers import render_json
from config.api.serializers import Answer
from config.api.views import ApiRequest, ApiViewSet, endpoint

logger = logging.getLogger("platform.health")

CHECK_SECONDS = 1.5
_MIGRATIONS_TRUSTED_SECONDS = 30.0

# One check at a time: a database that hangs must not collect a thread per question.
_checker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="health")
_lock = threading.Lock()
_running: "Future[bool] | None" = None
_migrated_at = 0.0


class HealthAnswer(Answer):
    """Whether the service works (specification section 2.5)."""

    status = TextField()
    timestamp = serializers.DateTimeField()
    version = TextField()


def _check(aliases: tuple[str, ...]) -> bool:
    """Ask each database for a row, and whether its migrations are applied. Runs in a thread of its own."""
    global _migrated_at  # noqa: PLW0603  one fact per process
    try:
        for alias in aliases:
            with connections[alias].cursor() as cursor:
                cursor.execute("SELECT 1")
            if time.monotonic() - _migrated_at > _MIGRATIONS_TRUSTED_SECONDS:
                executor = MigrationExecutor(connections[alias])
                if executor.migration_plan(executor.loader.graph.leaf_nodes()):
                    logger.warning("unhealthy: migrations are pending on %s", alias)
                    return False
        _migrated_at = time.monotonic()
    except DatabaseError as error:
        logger.warning("unhealthy: %s", type(error).__name__)
        return False
    finally:
        connections.close_all()
    return True


def is_healthy(*aliases: str) -> bool:
    """Say whether these databases (none named: all) answer in time and are migrated."""
    global _running  # noqa: PLW0603
    with _lock:
        if _running is None or _running.done():
            _running = _checker.submit(_check, aliases or tuple(connections))
        check = _running
    try:
        return check.result(timeout=CHECK_SECONDS)
    except FutureTimeout:
        logger.warning("unhealthy: the database does not answer within %s s", CHECK_SECONDS)
        return False


class HealthViewSet(ApiViewSet):
    """The health of service A."""

    tag = "health"

    @endpoint(access=PUBLIC, limit="health", answer=HealthAnswer, also={503: HealthAnswer})
    def check(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Say whether the service is healthy.

        503 with the same three members when the database does not answer or is not migrated.
        """
        healthy = is_healthy()
        content = {
            "status": "healthy" if healthy else "unhealthy",
            "timestamp": timezone.now(),
            "version": settings.API_VERSION,
        }
        return HttpResponse(
            render_json(HealthAnswer.represent(content)),
            status=200 if healthy else 503,
            content_type="application/json",
        )
