"""The consents of people, each with its kind, scope, start, and end.

The code that acts on a consent stores it (`give_consent`) and ends it (`Consent.objects…end`). An app declares how a
person ends its kinds of consents (`consent_endings`).
"""

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.ids import uuid7

BANK_LINK, APP, ELECTRONIC_NOTICES = "bank_link", "app", "electronic_notices"
LENDER_SHARING, CREDIT_REPORT = "lender_sharing", "credit_report"
KINDS = (BANK_LINK, APP, ELECTRONIC_NOTICES, LENDER_SHARING, CREDIT_REPORT)


class ConsentQuerySet(models.QuerySet["Consent"]):
    def active(self) -> Self:
        return self.filter(ended_at__isnull=True)

    def end(self, *, now: datetime) -> int:
        return self.active().update(ended_at=now)


class Consent(models.Model):
    """A consent of an account. `reference` is the id of the record that it permits, such as a linked bank."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The consent's id.")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="consents", db_index=False
    )
    kind = models.CharField(
        max_length=32,
        help_text="`bank_link`: a linked bank. `app`: an authorized app. `electronic_notices`: notices by mail. "
        "`lender_sharing`: data shared with a lender. `credit_report`: a report about the person.",
    )
    reference = models.UUIDField(db_index=True, editable=False)
    scope = models.TextField(help_text="What the consent permits, such as the name and scopes of an app.")
    text_sha256: Any = models.CharField(  # noqa: DJ001
        max_length=64,
        null=True,
        help_text="SHA-256 of the text that the person agreed to; null if another service displayed it.",
    )
    given_at = models.DateTimeField(help_text="When the consent was given (UTC).")
    ends_at = models.DateTimeField(null=True, help_text="When the consent ends by itself (UTC); null without an end.")
    ended_at = models.DateTimeField(null=True, help_text="When the consent ended (UTC); null while it is in effect.")

    objects = ConsentQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["account", "-id"], name="identity_consent_newest")]
        constraints = [models.CheckConstraint(condition=Q(kind__in=KINDS), name="identity_consent_kind_known")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


def give_consent(
    user_id: int, kind: str, reference: UUID, *, scope: str, now: datetime, text_sha256: str | None = None
) -> None:
    """Store a consent, in the transaction that stores the permitted record."""
    Consent.objects.create(
        account_id=user_id, kind=kind, reference=reference, scope=scope, text_sha256=text_sha256, given_at=now
    )
