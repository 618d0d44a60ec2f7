from django.db import models
from django.db.models import Q

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7

PENDING, SENT, FAILED = "pending", "sent", "failed"


class OutgoingMail(models.Model):
    """An outgoing mail. A worker can claim the mail after `due_at`, and `claim` identifies the worker's lease."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    recipient = EncryptedTextField()
    recipient_index = models.CharField(  # noqa: DJ001
        max_length=64, null=True, editable=False, help_text="Keyed hash of the address; null before 1.1."
    )
    template = models.CharField(max_length=64, help_text="`mail/NAME.txt` among the templates.")
    context = EncryptedTextField(help_text="The template's variables, as JSON; empty once the mail is done.")
    language = models.CharField(max_length=16)
    status = models.CharField(
        max_length=16, default=PENDING, choices=[(item, item) for item in (PENDING, SENT, FAILED)]
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(
        max_length=64, blank=True, default="", help_text="The kind of error, without the server's text."
    )
    due_at = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, editable=False)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "outgoing mail"
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status=PENDING), name="mail_outgoing_due"),
            models.Index(fields=["recipient_index"], name="mail_outgoing_recipient"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status=PENDING, due_at__isnull=False) | Q(status__in=[SENT, FAILED], due_at=None),
                name="mail_outgoing_due_while_pending",
            )
        ]

    def __str__(self) -> str:
        return f"{self.template} {self.id}"
