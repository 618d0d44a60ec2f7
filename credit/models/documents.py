"""Models of requested documents, of uploaded files, and of the files' encryption keys."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7

DOCUMENTS_MAX = 30
DOCUMENT_NAME_MAX_LENGTH = 255
CONTENT_TYPES = {"application/pdf": ".pdf", "image/jpeg": ".jpg", "image/png": ".png"}


class RequestedDocument(models.Model):
    """A document that a reviewer or an offer requests from an applicant."""

    REQUESTED, RECEIVED, ACCEPTED = "requested", "received", "accepted"
    STATUSES = (REQUESTED, RECEIVED, ACCEPTED)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The document's id.")
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="requested_documents", db_index=False
    )
    name = models.CharField(max_length=255, help_text="The name of the requested document.")
    status = models.CharField(
        max_length=16,
        default=REQUESTED,
        help_text="The status of the document: `requested`, `received`, or `accepted`.",
    )
    reason = models.TextField(
        blank=True,
        default="",
        help_text="Why a reviewer requested the document again, in the back office or the lender console. Otherwise "
        "empty.",
    )
    # The languages of `name` and `reason`. Null means the language of the offer.
    language = models.CharField(max_length=2, null=True, editable=False)  # noqa: DJ001
    reason_language = models.CharField(max_length=2, null=True, editable=False)  # noqa: DJ001
    requested_at = models.DateTimeField(help_text="When the document was last requested (UTC).")
    received_at = models.DateTimeField(
        null=True,
        help_text="When the first file was uploaded after the request, or when a reviewer marked the document as "
        "received (UTC). Null before then.",
    )
    accepted_at = models.DateTimeField(
        null=True, help_text="When a reviewer accepted the document (UTC). Null before then."
    )
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["application", "name"], name="credit_document_once"),
            models.CheckConstraint(
                condition=Q(status__in=("requested", "received", "accepted")), name="credit_document_status_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def put_on_checklist(application: Any, names: Iterable[str], *, now: datetime) -> None:
        """Add documents to an application's checklist. Existing entries don't change."""
        columns = {"application": application, "requested_at": now, "changed_by_id": application.consumer_id}
        RequestedDocument.objects.bulk_create(
            [RequestedDocument(name=name, **columns) for name in names], ignore_conflicts=True
        )

    @property
    def kept_files(self) -> list["DocumentFile"]:
        return [file for file in self.files.all() if not file.infection]


class StoredFile(models.Model):
    """A file in the document storage, with its encryption key.

    The row is committed before the file is written. The transaction that creates the file's `DocumentFile` sets
    `is_kept`, so rows without `is_kept` are unfinished uploads. Deleting the row makes every copy of the file
    unreadable.
    """

    id = models.UUIDField(
        primary_key=True, default=uuid4, editable=False, help_text="The object's random name in the storage."
    )
    key = EncryptedTextField(help_text="256 bits in base64, of this file alone.")
    begun_at = models.DateTimeField()
    is_kept = models.BooleanField(default=False)
    deleted_at = models.DateTimeField(null=True, help_text="When the file and its key were deleted.")

    class Meta:
        indexes = [models.Index(fields=["begun_at"], condition=Q(is_kept=False), name="credit_file_not_kept")]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Return the file's path in the storage. It begins with one of 256 folders."""
        return f"{self.id.hex[:2]}/{self.id}"


class DocumentFile(models.Model):
    """A file that was uploaded for a requested document, or rejected because the scanner found malware. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The file's id.")
    document = models.ForeignKey("credit.RequestedDocument", on_delete=models.PROTECT, related_name="files")
    stored = models.OneToOneField(StoredFile, null=True, on_delete=models.PROTECT, related_name="file")
    name = models.CharField(max_length=255, help_text="The name of the uploaded file, without folders.")
    content_type = models.CharField(
        max_length=32,
        help_text="The type of the file, detected from the content: `application/pdf`, `image/jpeg`, or `image/png`.",
    )
    size_bytes = models.PositiveIntegerField(help_text="The size of the file, in bytes.")
    sha256 = models.CharField(max_length=64, help_text="The SHA-256 of the file, in hex.")
    infection = models.CharField(
        max_length=255, blank=True, help_text="The scanner's name of the malware; the file was not stored."
    )
    received_at = models.DateTimeField(help_text="When the file was uploaded (UTC).")
    principal = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    credential = models.CharField(max_length=80)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(stored__isnull=False, infection="") | Q(stored__isnull=True) & ~Q(infection=""),
                name="credit_document_file_kept_or_infected",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def uploaded_for(cls, application: Any) -> "models.QuerySet[DocumentFile]":
        """Select the stored files of an application. Rejected and deleted files are excluded."""
        return cls.objects.filter(
            document__application=application, stored__isnull=False, stored__deleted_at__isnull=True
        )

    @property
    def download_name(self) -> str:
        extension = CONTENT_TYPES.get(self.content_type, "")
        same = {extension, ".jpeg"} if extension == ".jpg" else {extension}
        return self.name if any(self.name.lower().endswith(ending) for ending in same) else f"{self.name}{extension}"

    @property
    def is_image(self) -> bool:
        return self.content_type.startswith("image/")
