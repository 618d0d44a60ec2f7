from typing import Any

from django.db import models
from django.db.models import Q

from config.core.ids import uuid7
from config.core.json_text import JsonTextField

KINDS = ("development", "sandbox", "production")


class Installation(models.Model):
    """The environment of this database.

    The table has one row, which the first migration creates with the value of `ENVIRONMENT`.

    `kind` never changes. `rotate_encryption_key` moves `encryption` forward, and the database rejects a move backward.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    kind = models.CharField(max_length=16, choices=[(kind, kind) for kind in KINDS])
    encryption = models.CharField(  # noqa: DJ001  a server of version 1.0 still runs during this migration
        max_length=8,
        null=True,
        help_text="The form of encrypted values, see `config.core.encryption`. Null: not bound to their rows.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="ops_installation_one"),
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="ops_installation_kind"),
        ]

    def __str__(self) -> str:
        return self.kind


class RequestLine(models.Model):
    """A line of the caller's request log, stored for 7 days: IDs, a template of the path, and numbers.

    `account_id` is not a foreign key, so that a deleted account can't make an INSERT of a batch fail. IDs increase with
    time, so the primary key supports reading and pruning.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    account_id = models.BigIntegerField(
        help_text="The account that made the call; for calls on behalf of an account, the partner."
    )
    credential = models.CharField(
        max_length=80,
        help_text="The kind and the public id of the credential: `api_key:…`, `jwt:…`. For calls on behalf of a "
        "customer, also `act:` and the partner's id.",
    )
    method = models.CharField(max_length=8, help_text="The HTTP method.")
    route = models.CharField(
        max_length=160, help_text="The template of the path, such as `/v1/applications/{application_id}`."
    )
    status = models.PositiveSmallIntegerField(help_text="The HTTP status of the response.")
    code = models.CharField(max_length=8, blank=True, default="", help_text="The error code; empty if none.")
    failed_fields = models.JSONField(
        null=True, default=None, help_text="The names of the fields that failed; null if there are none."
    )
    duration_ms = models.PositiveIntegerField(help_text="The time until the response began, in milliseconds.")
    request_id = models.UUIDField(help_text="The id in `X-Request-Id` of the response.")
    at = models.DateTimeField(help_text="When the API responded (UTC).")

    class Meta:
        default_permissions = ()  # only the account can view its lines
        indexes = [models.Index(fields=["account_id", "-id"], name="ops_requestline_account")]

    @property
    def shown_code(self) -> str | None:
        return self.code or None

    @property
    def failed_names(self) -> list[str]:
        return self.failed_fields or []

    def __str__(self) -> str:
        return f"{self.method} {self.route} {self.status}"


class WorkMark(models.Model):
    """The items that a process is processing. If `ends_at` has passed, the process died."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=32)
    keys: Any = JsonTextField()
    ends_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class FailedItem(models.Model):
    """A worker's item that raised an exception, or whose process died.

    Only the exception's type is stored, because the message may contain personal data.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=32)
    key = models.CharField(max_length=64, help_text="The primary key of the item's row.")
    failures = models.PositiveIntegerField(default=0, help_text="Attempts that ended with an exception.")
    kills = models.PositiveIntegerField(default=0, help_text="Processes that died while they processed the item.")
    error = models.CharField(max_length=64, blank=True, default="", help_text="The exception's type.")
    first_failed_at = models.DateTimeField()
    last_failed_at = models.DateTimeField()
    retry_at = models.DateTimeField(help_text="The earliest time of the next attempt (UTC).")
    dead_at = models.DateTimeField(null=True, blank=True, help_text="When the item became a dead letter (UTC).")

    class Meta:
        default_permissions = ("view", "change")
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="ops_faileditem_key")]
        indexes = [models.Index(fields=["dead_at"], name="ops_faileditem_dead", condition=Q(dead_at__isnull=False))]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"
