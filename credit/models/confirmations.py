"""Values of applications that reviewers confirmed from documents."""

from typing import Any

import orjson
from django.conf import settings
from django.db import models

from config.core.encryption import EncryptedTextField, UnreadableSecret
from config.core.ids import uuid7
from credit.core.facts import CONFIRMED, POINTER_MAX_LENGTH, Known


class Confirmation(models.Model):
    """A reviewer's confirmation that a file shows a value of `application_data`. The newest per pointer counts.

    Append-only. `value` is JSON; null once erased.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False, help_text="The confirmation's id.")
    application = models.ForeignKey(
        "credit.Application", on_delete=models.PROTECT, related_name="confirmations", db_index=False
    )
    pointer = models.CharField(
        max_length=POINTER_MAX_LENGTH, help_text="The JSON pointer (RFC 6901) below `application_data`."
    )
    value = EncryptedTextField(null=True)
    file = models.ForeignKey(
        "credit.DocumentFile", on_delete=models.PROTECT, related_name="+", db_index=False,
        help_text="The file that shows the value.",
    )  # fmt: skip
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False,
        help_text="The reviewer who confirmed the value.",
    )  # fmt: skip
    confirmed_at = models.DateTimeField(help_text="When the value was confirmed (UTC).")

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["application", "id"], name="credit_confirmation_newest")]

    def __str__(self) -> str:
        return self.pointer

    @property
    def parsed_value(self) -> Any:
        """The confirmed value; None once it is erased."""
        return None if self.value is None else orjson.loads(self.value)

    @property
    def readable_value(self) -> Any:
        """The confirmed value; None if it is erased or can't be read."""
        try:
            return self.parsed_value
        except UnreadableSecret:  # the error is already logged
            return None

    @classmethod
    def known_of(cls, application_id: Any) -> dict[str, Known]:
        """Return the confirmed values of an application, by JSON pointer; costs one query.

        An erased or unreadable value is None.
        """
        newest = {row.pointer: row for row in cls.objects.filter(application=application_id).order_by("id")}
        return {
            pointer: Known(row.readable_value, CONFIRMED, row.confirmed_at.date()) for pointer, row in newest.items()
        }
