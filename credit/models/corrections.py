"""Models of the values that reviewers confirm, and of the values that applicants report as wrong."""

from typing import Any

import orjson
from django.conf import settings
from django.db import models
from django.db.models import Q

from config.core.encryption import EncryptedTextField, readable
from config.core.ids import uuid7
from credit.core.facts import CONFIRMED, CORRECTED, POINTER_MAX_LENGTH, Known
from credit.models.closable import ClosableModel


class Confirmation(models.Model):
    """A reviewer's confirmation that a file shows a value of `application_data`.

    For each pointer, the newest confirmation applies. Append-only. `value` is JSON, or null after its erasure.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The confirmation's id.")
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="confirmations", db_index=False
    )
    pointer = models.CharField(
        max_length=POINTER_MAX_LENGTH, help_text="The JSON pointer (RFC 6901) of the value below `application_data`."
    )
    value = EncryptedTextField(null=True)
    file = models.ForeignKey(
        "credit.DocumentFile", on_delete=models.PROTECT, related_name="+", db_index=False,
        help_text="The id of the file that shows the value.",
    )  # fmt: skip
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False,
        help_text="The `user_id` of the reviewer who confirmed the value.",
    )  # fmt: skip
    confirmed_at = models.DateTimeField(help_text="When the value was confirmed (UTC).")

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["application", "id"], name="credit_confirmation_newest")]

    def __str__(self) -> str:
        return self.pointer

    @property
    def parsed_value(self) -> Any:
        """The confirmed value, or None after its erasure."""
        return None if self.value is None else orjson.loads(self.value)

    @property
    def readable_value(self) -> Any:
        """The confirmed value, or None if it is erased or can't be decrypted."""
        return readable(lambda: self.parsed_value)

    @classmethod
    def known_of(cls, application_id: Any) -> dict[str, Known]:
        """Return the confirmed values of an application by JSON pointer, with a single query.

        An erased or undecryptable value is None.
        """
        newest = {row.pointer: row for row in cls.objects.filter(application=application_id).order_by("id")}
        return {
            pointer: Known(row.readable_value, CONFIRMED, row.confirmed_at.date()) for pointer, row in newest.items()
        }


FACT_MAX_LENGTH = 200


class Correction(ClosableModel):
    """An applicant's report that a fact is wrong, with the value that the applicant claims.

    A fact has at most one open report. A reviewer either corrects the fact, which starts a new assessment with the
    claimed value, or refuses with a reason. `claimed` is JSON. After an erasure, `claimed`, `statement`, and `reason`
    are null.
    """

    OPEN, CORRECTED, REFUSED = "open", "corrected", "refused"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The correction's id.")
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="corrections", db_index=False
    )
    fact = models.CharField(max_length=FACT_MAX_LENGTH, help_text="The name of the reported fact.")
    claimed = EncryptedTextField(null=True)
    statement = EncryptedTextField(null=True, help_text="The applicant's statement. Null after an erasure.")
    file = models.ForeignKey(
        "credit.DocumentFile", null=True, on_delete=models.PROTECT, related_name="+", db_index=False,
        help_text="An uploaded file of the application that shows the value. Null if there is none.",
    )  # fmt: skip
    requested_at = models.DateTimeField(help_text="When the value was reported (UTC).")
    due_at = models.DateTimeField(help_text="The deadline of the answer (UTC).")
    reason = EncryptedTextField(null=True, help_text="The reviewer's reason. Null while the correction is open.")
    # The language of `reason`. Null means the language of the offer.
    reason_language = models.CharField(max_length=2, null=True, editable=False)  # noqa: DJ001
    score = models.OneToOneField(
        "credit.Score", null=True, on_delete=models.PROTECT, related_name="+",
        help_text="The new assessment; null if there is none.",
    )  # fmt: skip

    class Meta:
        ordering = ["id"]
        constraints = [
            ClosableModel.Meta.constraints[1],
            models.UniqueConstraint(
                fields=["application", "fact"], condition=Q(closed_at__isnull=True), name="credit_correction_one_open"
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=["", "corrected", "refused"]), name="credit_correction_known"
            ),
        ]
        indexes = [
            models.Index(fields=["application", "-id"], name="credit_correction_record"),
            models.Index(fields=["due_at"], condition=Q(closed_at__isnull=True), name="credit_correction_open"),
        ]

    def __str__(self) -> str:
        return f"{self.fact}, {self.status}"

    @property
    def status(self) -> str:
        return self.outcome or self.OPEN

    @property
    def has_score(self) -> bool:
        return self.score_id is not None

    @property
    def parsed_claim(self) -> Any:
        """The claimed value, or None if it is erased or can't be decrypted."""
        return readable(lambda: None if self.claimed is None else orjson.loads(self.claimed))

    @classmethod
    def known_of(cls, application_id: Any) -> dict[str, Known]:
        """Return the newest corrected value of each fact of an application by name, with a single query."""
        rows = cls.objects.filter(application=application_id, outcome=cls.CORRECTED).order_by("closed_at", "id")
        corrected = {row.fact: (row.parsed_claim, row.closed_at) for row in rows}
        return {
            fact: Known(value, CORRECTED, closed_at.date())
            for fact, (value, closed_at) in corrected.items()
            if value is not None and closed_at is not None
        }
