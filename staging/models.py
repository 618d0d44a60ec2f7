from datetime import datetime
from hashlib import sha256
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.ids import uuid7
from config.core.json_text import JsonTextField, canonical_json
from staging.machine import MACHINE, STAGED


class StagedItem(models.Model):
    """A payload on which the owner must decide or has decided.

    The model is not a `StatefulModel`, because an item is decided only once, and its row stores the time and the actor.
    A single statement can decide hundreds of items.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The item's id.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="staged_items",
        db_index=False,
        help_text="The account that decides the item.",
    )
    kind = models.CharField(max_length=64, help_text="The kind of the payload, such as `note` or `claim`.")
    status = models.CharField(
        max_length=16,
        choices=[(choice, choice) for choice in MACHINE.statuses],
        default=STAGED,
        help_text="The status of the item.",
    )
    source = models.CharField(  # noqa: DJ001  the API returns null
        max_length=255, null=True, help_text="The source of the payload; null if not sent."
    )
    payload = JsonTextField(help_text="The data that an approval stores. The fields depend on `kind`.")
    payload_sha256 = models.CharField(
        max_length=64, help_text="The SHA-256 of the payload as canonical JSON (RFC 8785), in hex."
    )
    staged_at = models.DateTimeField(help_text="When the item was staged (UTC).")
    decided_at = models.DateTimeField(
        null=True, help_text="When the item was decided or expired (UTC); null before then."
    )
    # The account that decided the item. Null for an expired item.
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    credential = models.CharField(max_length=80, blank=True, default="")

    stored_id = ""  # the ID of the permanent row, which `Approval` stores

    class Meta:
        indexes = [
            models.Index(fields=["user", "status", "-id"], name="staging_item_user_status"),
            models.Index(fields=["staged_at"], condition=Q(status=STAGED), name="staging_item_age"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=MACHINE.statuses), name="staging_item_status_known"),
            models.CheckConstraint(
                condition=Q(status=STAGED, decided_at__isnull=True) | (~Q(status=STAGED) & Q(decided_at__isnull=False)),
                name="staging_item_decided_at",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @classmethod
    def of(cls, *, user_id: int, kind: str, payload: dict[str, Any], source: str | None, now: datetime) -> Self:
        """Return an unsaved item. The kind has already validated the payload."""
        return cls(
            user_id=user_id,
            kind=kind,
            source=source,
            payload=payload,
            payload_sha256=sha256(canonical_json(payload)).hexdigest(),
            staged_at=now,
        )

    def event_members(self) -> dict[str, Any]:
        members = {"item_id": str(self.id), "kind": self.kind, "status": self.status}
        return {**members, "stored_id": self.stored_id} if self.stored_id else members


class Approval(models.Model):
    """The permanent row of an approved item. The item is the primary key, so an item has at most one permanent row."""

    item = models.OneToOneField(StagedItem, primary_key=True, on_delete=models.PROTECT, related_name="approval")
    stored_id = models.CharField(
        max_length=64,
        help_text="The id of the record that the approval created. `kind` defines the type of the record.",
    )

    def __str__(self) -> str:
        return self.stored_id


class Note(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="notes")
    title = models.CharField(max_length=255, null=True)  # noqa: DJ001  the API returns null
    text = models.TextField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.title or self.text[:60]
