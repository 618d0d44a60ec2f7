from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q


class ClosableModel(models.Model):
    """A record of an `application` that is open until it has an `outcome`. Only one record can be open at a time."""

    outcome = models.CharField(max_length=16, blank=True, help_text="How it ended; empty while it is open.")
    closed_at = models.DateTimeField(null=True, help_text="When the record was closed (UTC). Null while it is open.")
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(
                fields=["application"], condition=Q(closed_at__isnull=True), name="%(app_label)s_%(class)s_one_open"
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, outcome="") | Q(closed_at__isnull=False) & ~Q(outcome=""),
                name="%(app_label)s_%(class)s_closed_whole",
            ),
        ]

    def close(self, outcome: str, *, by: Any, now: datetime, **conditions: Any) -> bool:
        """Close the record if the stored row is open and meets the conditions. Return whether this call closed it."""
        stored = type(self)._default_manager.filter(pk=self.pk, closed_at__isnull=True, **conditions)
        return bool(stored.update(outcome=outcome, closed_at=now, closed_by=by))
