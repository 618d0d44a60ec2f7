"""The pre-contractual information of EU credit. Django finds this model through `credit.models`."""

import json
from datetime import datetime
from typing import Any

from django.db import models

from config.core.encryption import EncryptedTextField
from config.core.ids import uuid7


class Precontract(models.Model):
    """The form of Directive (EU) 2023/2225, Art. 10, for the terms of a loan, in one language. It never changes.

    `html` is the form, word for word, `sha256` the hash of its UTF-8 bytes, and `content` the JSON of its rows and
    payments. `provided_at` is when the applicant first received the form. `opened_at` is when they first opened it as a
    page or a PDF.
    """

    API, PORTAL = MEDIA = ("api", "portal")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey("credit.Application", on_delete=models.PROTECT, related_name="precontracts")
    terms_sha256 = models.CharField(max_length=64, help_text="The SHA-256 of the terms of the form.")
    language = models.CharField(max_length=8, help_text="The language of the form.")
    content = EncryptedTextField(null=True)  # null once erased
    html = EncryptedTextField(null=True)
    sha256 = models.CharField(max_length=64, help_text="The SHA-256 of the form's HTML, in hex.")
    medium = models.CharField(  # noqa: DJ001  null until it was provided
        max_length=8,
        null=True,
        choices=[(medium, medium) for medium in MEDIA],
        help_text="How the applicant first got the form: `api` or `portal`; null before then.",
    )
    made_at = models.DateTimeField(help_text="When the form was made (UTC).")
    provided_at = models.DateTimeField(
        null=True, help_text="When the applicant first got the form (UTC); null before then."
    )
    opened_at = models.DateTimeField(
        null=True, help_text="When the applicant first opened it as a page or a PDF (UTC); null before then."
    )

    class Meta:
        db_table = "credit_precontract"
        ordering = ["id"]
        verbose_name = "European information form"
        constraints = [
            models.UniqueConstraint(fields=["application", "terms_sha256", "language"], name="credit_precontract_once")
        ]

    def __str__(self) -> str:
        return self.sha256

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.content)["rows"]
        return rows

    @property
    def schedule(self) -> list[dict[str, Any]]:
        schedule: list[dict[str, Any]] = json.loads(self.content)["schedule"]
        return schedule

    def note_provision(self, medium: str, *, is_opened: bool, now: datetime) -> None:
        """Store that the applicant received the form and, with `is_opened`, opened it. The first times count."""
        changed: dict[str, Any] = {}
        if self.provided_at is None:
            changed |= {"provided_at": now, "medium": medium}
        if is_opened and self.opened_at is None:
            changed["opened_at"] = now
        for name, value in changed.items():
            setattr(self, name, value)
        if changed:
            self.save(update_fields=[*changed])
