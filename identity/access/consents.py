"""The consents of accounts, each with a kind, scope, start, and end.

Services create consents with `give_consent` and end them with `Consent.objects…end`. For each kind of consent, an
AppConfig declares the function that ends it (`consent_endings`). The AppConfig also declares the expression for the
name of its bank or lender (`consent_names`).
"""

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Case, Q, TextField, When

from config.core.ids import uuid7
from config.core.registration import declared

BANK_LINK, APP, ELECTRONIC_NOTICES = "bank_link", "app", "electronic_notices"
LENDER_SHARING, CREDIT_REPORT = "lender_sharing", "credit_report"
KINDS = (BANK_LINK, APP, ELECTRONIC_NOTICES, LENDER_SHARING, CREDIT_REPORT)


class ConsentQuerySet(models.QuerySet["Consent"]):
    def active(self) -> Self:
        return self.filter(ended_at__isnull=True)

    def named(self) -> Self:
        """Annotate each consent with `party`, the name of the bank or lender."""
        names = [When(kind=kind, then=name) for kind, name in declared("consent_names")]
        return self.annotate(party=Case(*names, output_field=TextField()))

    def end(self, *, now: datetime) -> int:
        return self.active().update(ended_at=now)


class Consent(models.Model):
    """A consent of an account. `reference` is the id of the record that the consent permits, such as a linked bank."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The consent's id.")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="consents", db_index=False
    )
    kind = models.CharField(
        max_length=32,
        help_text="The kind of the consent. `bank_link`: a linked bank. `app`: an authorized app. "
        "`electronic_notices`: electronic notices. `lender_sharing`: data shared with a lender. `credit_report`: a "
        "report about the person.",
    )
    reference = models.UUIDField(db_index=True, editable=False)
    scope = models.TextField(help_text="The content of the consent, such as the name and scopes of an app.")
    text_sha256: Any = models.CharField(  # noqa: DJ001
        max_length=64,
        null=True,
        help_text="The SHA-256 of the text that the person agreed to, for `app` and `electronic_notices`. Null for "
        "other kinds, and for apps authorized before version 1.1.",
    )
    given_at = models.DateTimeField(help_text="When the consent was given (UTC).")
    ends_at = models.DateTimeField(null=True, help_text="Always null: no consent has a fixed end.")
    ended_at = models.DateTimeField(null=True, help_text="When the consent ended (UTC); null while it is in effect.")

    party: str | None  # only rows of `ConsentQuerySet.named()` have this attribute

    objects = ConsentQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["account", "-id"], name="identity_consent_newest")]
        constraints = [models.CheckConstraint(condition=Q(kind__in=KINDS), name="identity_consent_kind_known")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def name(self) -> str | None:
        """The name of the authorized app. In a `named()` queryset, also the name of the bank or lender."""
        return self.scope.rpartition(": ")[0] if self.kind == APP else self.party

    @property
    def application_reference(self) -> str | None:
        references = dict(declared("consent_references"))
        return references[self.kind](self.reference) if self.kind in references else None


def give_consent(
    user_id: int, kind: str, reference: UUID, *, scope: str, now: datetime, text_sha256: str | None = None
) -> None:
    """Store a consent, in the transaction that stores the permitted record."""
    Consent.objects.create(
        account_id=user_id, kind=kind, reference=reference, scope=scope, text_sha256=text_sha256, given_at=now
    )
