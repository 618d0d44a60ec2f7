"""The outbox: one row for everything that happened, written with what made it happen."""

from django.conf import settings
from django.db import models

from config.api.documents import DocumentField
from config.api.ids import uuid7


class Event(models.Model):
    """Something that happened to an account's record: ids and statuses only, no personal data."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, db_index=False, related_name="+")
    type = models.CharField(max_length=64)
    object = DocumentField()
    request_id = models.CharField(max_length=36, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["account", "id"], name="webhooks_event_account")]

    def __str__(self) -> str:
        """Name the event by its type."""
        return self.type
