"""The outbox, the endpoints that subscribe to it, and their deliveries.

The transaction of a change writes an `Event` without a number. Later, `publishing.py` numbers the event, and creates a
`Delivery` for each subscribed endpoint.
"""

import re
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.encryption import EncryptedTextField, readable
from config.core.ids import uuid7
from config.core.json_text import JsonTextField

ENABLED, DISABLED = "enabled", "disabled"
PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"

BY_OWNER, BY_OPERATOR, BY_RESET = "disabled_by_owner", "disabled_by_operator", "disabled_by_password_reset"
GONE, FAILING = "gone", "failing"
TONES = {"good": (DELIVERED, ENABLED), "bad": (FAILED, FAILING, DISABLED), "wait": (PENDING,)}

# Parts of a receiver's path that match this pattern are words. Other parts may be tokens.
_PLAIN = re.compile(r"[a-z]{1,24}(?:[-_.][a-z]{1,24}){0,3}|v[0-9]{1,3}", re.ASCII)
HIDDEN = "•••"


class Event(models.Model):
    """A change of an account's record, with the fields of its schema, but without names or contact data.

    `sequence` is the number of the event in the account's feed, from 1, without gaps. It is null until the event is
    published. Only committed events are numbered, so a smaller number never appears after a larger number.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, db_index=False, related_name="+")
    type = models.CharField(max_length=64)
    object = JsonTextField()
    request_id = models.CharField(max_length=36, blank=True)
    created_at = models.DateTimeField()
    sequence = models.BigIntegerField(null=True, editable=False)

    class Meta:
        indexes = [
            # The index contains only unpublished events, so it stays small.
            models.Index(fields=["account", "id"], condition=Q(sequence=None), name="webhooks_event_unpublished")
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "sequence"], condition=Q(sequence__isnull=False), name="webhooks_event_sequence"
            )
        ]

    def __str__(self) -> str:
        return self.type


class EventFeed(models.Model):
    """The last number of an account's events. Publishing and changes of endpoints lock this row first."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.PROTECT, related_name="+"
    )
    last_sequence = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.account_id}: {self.last_sequence}"


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def present(self) -> "EndpointQuerySet":
        return self.filter(deleted_at=None)

    def enabled(self) -> "EndpointQuerySet":
        return self.present().filter(status=ENABLED)


class Endpoint(models.Model):
    """A receiver's URL, its event types, and the secret that signs its deliveries.

    After a rotation, `previous_secret` also signs until `previous_secret_until`.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The endpoint's id.")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, db_index=False, related_name="+")
    client_id = models.CharField(
        max_length=100,
        blank=True,
        default="",
        help_text="The app that created the endpoint; empty for the account itself.",
    )
    url = models.TextField(help_text="The https URL that receives the events. In development, http is also allowed.")
    event_types: Any = JsonTextField(
        help_text="The event types that the endpoint receives. `*` is every type, including future types."
    )
    description = models.TextField(
        blank=True, default="", help_text="The purpose of the endpoint, in its owner's words."
    )
    status = models.CharField(
        max_length=16,
        default=ENABLED,
        choices=[(ENABLED, ENABLED), (DISABLED, DISABLED)],
        help_text="The status of the endpoint. `enabled`: the endpoint receives events. `disabled`: it does not.",
    )
    disabled_reason = models.CharField(  # noqa: DJ001  the API returns null
        max_length=32, null=True, blank=True, help_text="Why the endpoint is disabled; null while it is enabled."
    )
    disabled_at = models.DateTimeField(null=True, blank=True, help_text="When the endpoint was disabled (UTC).")
    secret = EncryptedTextField()
    previous_secret = EncryptedTextField(null=True)
    previous_secret_until = models.DateTimeField(null=True, blank=True)
    secret_version = models.PositiveIntegerField(
        default=1, help_text="The number of the current secret, from 1; a rotation increments it."
    )
    secret_proven = models.BooleanField(
        default=True, help_text="Whether the receiver has accepted a test that was signed with the newest secret."
    )
    failing_since = models.DateTimeField(
        null=True, blank=True, help_text="The first failed attempt since the last one that succeeded."
    )
    created_at = models.DateTimeField(help_text="When the endpoint was created (UTC).")
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = EndpointQuerySet.as_manager()

    class Meta:
        verbose_name = "webhook endpoint"
        indexes = [
            models.Index(fields=["account", "id"], condition=Q(deleted_at=None), name="webhooks_endpoint_account"),
            # The back office and every scrape of the metrics query the few failing endpoints.
            models.Index(
                fields=["failing_since"],
                condition=Q(deleted_at=None, status=ENABLED, failing_since__isnull=False),
                name="webhooks_endpoint_failing",
            ),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=[ENABLED, DISABLED]), name="webhooks_endpoint_status_known"),
            models.CheckConstraint(
                condition=Q(status=ENABLED, disabled_reason=None) | Q(status=DISABLED, disabled_reason__isnull=False),
                name="webhooks_endpoint_disabled_for_a_reason",
            ),
        ]

    @property
    def disabled_since(self) -> datetime | None:
        """Return when the endpoint was disabled. Return None if it is enabled, or if version 1.0 disabled it."""
        return self.disabled_at if self.status == DISABLED else None

    def __str__(self) -> str:
        return self.shown_url

    @property
    def shown_url(self) -> str:
        """Return the URL for staff, without the query and the parts of the path that may be tokens."""
        parts = urlsplit(self.url)
        path = "/".join(part if not part or _PLAIN.fullmatch(part) else HIDDEN for part in parts.path.split("/"))
        return f"{parts.scheme}://{parts.netloc}{path}{f'?{HIDDEN}' if parts.query else ''}"

    def live_secrets(self, now: datetime) -> list[str]:
        """Return the secrets that sign at `now`, newest first.

        Raises UnreadableSecret if the newest secret is unreadable.
        """
        if self.previous_secret_until is None or self.previous_secret_until <= now:
            return [self.secret]
        previous = readable(lambda: self.previous_secret)
        return [self.secret] if previous is None else [self.secret, previous]

    def header_secret(self, now: datetime, *, is_test: bool) -> str:
        """Return the secret for `X-Service-Signature`, which can contain only one signature.

        After a rotation, the old secret signs until the receiver accepts a test event, or until the grace period ends.
        The new secret signs test events.
        """
        return self.secret if is_test or self.secret_proven else self.live_secrets(now)[-1]


class Delivery(models.Model):
    """The delivery of an event to an endpoint, with all attempts.

    A worker can claim a `pending` delivery after `due_at`. The claim sets `due_at` to the end of the lease, and `claim`
    to a new ID. Storing a result requires the current `claim`, so a paused worker can't store a result after its lease.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The delivery's id.")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, db_index=False, related_name="+")
    endpoint = models.ForeignKey(
        Endpoint,
        on_delete=models.PROTECT,
        db_index=False,
        related_name="deliveries",
        help_text="The endpoint that receives the event.",
    )
    event = models.ForeignKey(
        Event,
        on_delete=models.PROTECT,
        db_index=False,
        related_name="deliveries",
        help_text="The id of the event, which is the `webhook-id` of every attempt.",
    )
    event_type = models.CharField(max_length=64, help_text="The event type.")
    status = models.CharField(
        max_length=16,
        default=PENDING,
        choices=[(status, status) for status in (PENDING, DELIVERED, FAILED)],
        help_text="The status of the delivery: `pending` until an attempt succeeds (`delivered`) or the API makes no "
        "further attempt (`failed`).",
    )
    attempts: Any = JsonTextField(default=list)
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="When the next attempt is due (UTC); null if there is none."
    )
    claim = models.UUIDField(null=True, editable=False)
    is_redelivery = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name, verbose_name_plural = "webhook delivery", "webhook deliveries"
        indexes = [
            # The index contains only pending deliveries, so that workers find due deliveries fast.
            models.Index(fields=["due_at"], condition=Q(status=PENDING), name="webhooks_delivery_due"),
            models.Index(fields=["account", "-id"], name="webhooks_delivery_account"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["event", "endpoint"], condition=Q(is_redelivery=False), name="webhooks_delivery_once"
            ),
            models.CheckConstraint(
                condition=Q(status=PENDING, due_at__isnull=False) | Q(status__in=[DELIVERED, FAILED], due_at=None),
                name="webhooks_delivery_due_while_pending",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} to {self.endpoint_id}"
