"""An uploaded file of a requested document: its record, and the key of its content."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7

DOCUMENTS_MAX = 30  # per application
DOCUMENT_NAME_MAX_LENGTH = 255
CONTENT_TYPES = {"application/pdf": ".pdf", "image/jpeg": ".jpg", "image/png": ".png"}


class RequestedDocument(models.Model):
    """A document that a reviewer asked for, until it has been looked at and accepted."""

    REQUESTED, RECEIVED, ACCEPTED = "requested", "received", "accepted"
    STATUSES = (REQUESTED, RECEIVED, ACCEPTED)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="requested_documents", db_index=False
    )
    name = models.CharField(max_length=255)
    status = models.CharField(max_length=16, default=REQUESTED)
    reason = models.TextField(blank=True, default="", help_text="Why it is asked for again.")
    requested_at = models.DateTimeField()
    received_at = models.DateTimeField(null=True)
    accepted_at = models.DateTimeField(null=True)
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

    @property
    def kept_files(self) -> list["DocumentFile"]:
        return [file for file in self.files.all() if not file.infection]


class StoredFile(models.Model):
    """A file in the storage of documents, and the key that opens it.

    The row is committed before the file is written, and `is_kept` set with the record that the file belongs to:
    unfinished uploads are found by it. Deleting the row makes every copy of the file unreadable.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False, help_text="Its name, which says nothing.")
    key = EncryptedTextField(help_text="256 bits in base64, of this file alone.")
    begun_at = models.DateTimeField()
    is_kept = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["begun_at"], condition=Q(is_kept=False), name="credit_file_not_kept")]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Return the file's name in the storage, in one of 256 folders."""
        return f"{self.id.hex[:2]}/{self.id}"


class DocumentFile(models.Model):
    """A file that was uploaded for a requested document, or rejected for a scanner's finding. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    document = models.ForeignKey("credit.RequestedDocument", on_delete=models.PROTECT, related_name="files")
    stored = models.OneToOneField(StoredFile, null=True, on_delete=models.PROTECT, related_name="file")
    name = models.CharField(max_length=255, help_text="As the person's machine calls it, without folders.")
    content_type = models.CharField(max_length=32, help_text="By its content, whatever its name says.")
    size_bytes = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    infection = models.CharField(max_length=255, blank=True, help_text="What the scanner calls it; it was not kept.")
    received_at = models.DateTimeField()
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

    @property
    def download_name(self) -> str:
        extension = CONTENT_TYPES[self.content_type]
        same = {extension, ".jpeg"} if extension == ".jpg" else {extension}
        return self.name if any(self.name.lower().endswith(one) for one in same) else f"{self.name}{extension}"

    @property
    def is_image(self) -> bool:
        return self.content_type.startswith("image/")
