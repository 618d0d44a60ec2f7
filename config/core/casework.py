"""Models for work on records: access log, assignments, notes, reply templates, and saved lists.

These models reference records of all apps by kind (`credit.application`) and ID. Services of other apps write some of
these models, so this module is in the core. The tables belong to the app `backoffice`.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Exists, OuterRef, Q

from config.core import audit
from config.core.context import request_id
from config.core.ids import uuid7
from config.core.json_text import JsonTextField
from config.core.registration import declared


def named(record: models.Model) -> dict[str, Any]:
    return {"kind": record._meta.label_lower, "record_id": str(record.pk)}


def _side() -> Any:
    text = "The lender whose members own the row; empty for the platform's staff."
    return models.CharField(max_length=255, blank=True, default="", help_text=text)


def _account_key(**options: Any) -> Any:
    """Return a foreign key that prevents the deletion of the account. Each model declares its own index."""
    options |= {"on_delete": models.PROTECT, "related_name": "+", "db_index": False}
    return models.ForeignKey(settings.AUTH_USER_MODEL, **options)


class RecordNamed(models.Model):
    kind = models.CharField(max_length=100)
    record_id = models.CharField(max_length=255)
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True


class DataAccess(RecordNamed):
    """An access to personal data: viewer, subject, time, and reason. Append-only.

    The action `refused` means that the viewer requested a list with an unsupported parameter.
    """

    PAGE, LIST, UNMASKED, EXPORT, REFUSED = "page", "list", "unmasked", "export", "refused"

    provider = _side()
    viewer = _account_key()
    subject = _account_key(null=True, help_text="The data subject; empty for a list of many.")
    action = models.CharField(max_length=16, choices=[(word, word) for word in (PAGE, LIST, UNMASKED, EXPORT, REFUSED)])
    was_masked = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    details = JsonTextField(null=True)
    request_id = models.CharField(max_length=36, blank=True)
    at = models.DateTimeField()

    class Meta:
        app_label = "backoffice"
        verbose_name_plural = "data accesses"
        indexes = [
            models.Index(fields=["kind", "record_id", "-id"], name="backoffice_data_access_record"),
            models.Index(fields=["subject", "-id"], name="backoffice_data_access_subject"),
            models.Index(fields=["viewer", "-id"], name="backoffice_data_access_viewer"),
            models.Index(fields=["provider", "-id"], condition=~Q(provider=""), name="backoffice_data_access_lender"),
        ]
        permissions = [
            ("view_personal_data", "Can see personal data unmasked"),
            ("unmask_personal_data", "Can unmask personal data with a reason"),
            ("unmask_erased_data", "Can unmask records of erased accounts with a reason"),
            ("export_records", "Can export lists"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.viewer_id}"

    @classmethod
    def note(cls, action: str, *, viewer: Any, kind: str, now: datetime, **facts: Any) -> None:
        row = cls.objects.create(action=action, viewer=viewer, kind=kind, at=now, request_id=request_id.get(), **facts)
        about = {"subject": row.subject_id, "provider": row.provider, "masked": row.was_masked}
        audit.emit(
            f"personal_data.{action}",
            actor={"user": audit.ocsf_user(row.viewer_id)},
            entity=audit.entity(kind, row.record_id),
            unmapped={name: value for name, value in about.items() if value},
        )


class Assignment(RecordNamed):
    """The assignee of a record: at most one staff member of the platform, and one member of the lender."""

    provider = _side()
    assignee = _account_key()
    assigned_by = _account_key()
    assigned_at = models.DateTimeField()

    class Meta:
        app_label = "backoffice"
        constraints = [
            models.UniqueConstraint(fields=["kind", "record_id", "provider"], name="backoffice_assignment_one")
        ]
        indexes = [models.Index(fields=["assignee", "kind", "assigned_at"], name="backoffice_assignment_of")]

    def __str__(self) -> str:
        return f"{self.kind} {self.record_id} for {self.assignee_id}"

    @classmethod
    def in_force(cls, permission: str, **about: Any) -> models.QuerySet["Assignment"]:
        """Select the assignments of staff with `permission`, and of lenders' members who can decide.

        After an assignee is disabled, removed, or demoted, the record can be assigned again.
        """
        accounts: Any = get_user_model()._default_manager
        reviewers = accounts.with_perm(permission).filter(pk=OuterRef("assignee"))
        works = Q(Exists(reviewers), provider="")
        for decides in declared("console_deciders"):
            works |= decides("assignee", "provider")
        return cls.objects.filter(works, **about)


class Note(RecordNamed):
    """A note about a record, visible either to the platform's staff or to the lender's members. Append-only."""

    provider = _side()
    author = _account_key()
    mentioned = _account_key(null=True)
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        app_label = "backoffice"
        ordering = ["id"]
        indexes = [
            models.Index(fields=["kind", "record_id", "id"], name="backoffice_note_record"),
            models.Index(fields=["mentioned", "kind", "at"], name="backoffice_note_mentioned"),
        ]

    def __str__(self) -> str:
        return self.text[:80]

    @classmethod
    def unread_by(cls, user: Any) -> models.QuerySet["Note"]:
        """Select the notes that mention the user and are newer than the user's last visit to the record's page."""
        visits = DataAccess.objects.filter(
            kind=OuterRef("kind"), record_id=OuterRef("record_id"), viewer=user, action=DataAccess.PAGE
        ).filter(at__gte=OuterRef("at"))
        return cls.objects.filter(~Exists(visits), mentioned=user)


class ReplyTemplate(models.Model):
    """A reusable text for reviewers: a reason, or a list of document names (one per line).

    A decision's form offers the reasons for this decision, and the reasons for every decision.
    """

    DOCUMENTS, REASON = "documents", "reason"
    APPROVAL, REJECTION, REQUEST, REVIEW = "approval", "rejection", "request", "review"
    USES = {
        DOCUMENTS: "documents to request",
        APPROVAL: "a reason for an approval",
        REJECTION: "a reason for a rejection",
        REQUEST: "a reason for a document request",
        REVIEW: "a reason to reopen a case, or to return it to review",
        REASON: "a reason for every decision",
    }

    provider = _side()
    use = models.CharField(max_length=16, choices=[*USES.items()])
    name = models.CharField(max_length=80)
    text = models.TextField(max_length=10_000, help_text="For documents, one per line.")

    class Meta:
        app_label = "backoffice"
        ordering = ["use", "name"]
        constraints = [models.UniqueConstraint(fields=["provider", "use", "name"], name="backoffice_template_once")]

    def __str__(self) -> str:
        return self.name


class SavedView(models.Model):
    """The search and the filters of a list, saved by a user of the back office under a name."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=100)
    name = models.CharField(max_length=40)
    query = models.CharField(max_length=1_000)

    class Meta:
        app_label = "backoffice"
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "kind", "name"], name="backoffice_view_once")]

    def __str__(self) -> str:
        return self.name
