"""The applicants of a draft that was saved before they were complete."""

from typing import Any

import orjson
from django.db import models

from config.core.encryption import EncryptedTextField, readable
from credit.core.machine import DRAFT
from credit.models.applications import Application

Persons = list[dict[str, Any] | None]


class PartialApplicants(models.Model):
    """The entered fields of both applicants of a draft, for the applicant's own form.

    `entered` is the JSON of a list with two items. Each item is null, or an applicant in the API's format with null for
    missing fields. The API does not return the entered fields, and the lender can't read them.
    """

    application = models.OneToOneField(
        Application, primary_key=True, on_delete=models.PROTECT, related_name="partial_applicants"
    )
    entered = EncryptedTextField()

    class Meta:
        verbose_name, verbose_name_plural = "incomplete applicant", "incomplete applicants"

    def __str__(self) -> str:
        return str(self.application_id)

    @property
    def persons(self) -> Persons:
        return list(orjson.loads(self.entered))

    @classmethod
    def of(cls, application: Application) -> Persons:
        """Return the entered fields, or an empty list if no fields are stored or the fields are unreadable.

        Costs one query for a draft without applicants, otherwise none.
        """
        if application.status != DRAFT or application.readable_applicants is not None:
            return []
        stored = cls.objects.filter(application=application).first()
        return [] if stored is None else readable(lambda: stored.persons) or []

    @classmethod
    def write(cls, application: Application, persons: Persons | None) -> None:
        """Store the entered fields, or delete the stored fields if `persons` is None."""
        if persons is None:
            cls.objects.filter(application=application).delete()
        else:
            cls.objects.update_or_create(application=application, defaults={"entered": orjson.dumps(persons).decode()})
