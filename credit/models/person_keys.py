"""Keyed hashes that find other applications of the same applicant to the same lender."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Count, F, Max, Q

from config.core.encryption import blind_digests
from config.core.ids import uuid7
from config.core.search_words import words_of
from config.mail.addresses import comparable
from credit.core.applicants import Person
from credit.core.machine import IN_REVIEW, PENDING_DOCUMENTS, REJECTED
from credit.models.applications import Application
from identity.models import User


class Applicant(User):
    """An account with applications.

    The permission to view this proxy model does not include the admin page of the account.
    """

    class Meta:
        proxy = True
        verbose_name, verbose_name_plural = "person", "people"


class PersonKey(models.Model):
    """A keyed hash of an identifier of an applicant.

    An identifier is the name with the birth date, the email address, or the phone number. The hash's input includes
    the lender, so hashes of the same applicant differ between lenders.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(Application, on_delete=models.PROTECT, related_name="person_keys")
    digest = models.CharField(max_length=64)

    class Meta:
        indexes = [models.Index(fields=["digest"], name="credit_person_key")]

    def __str__(self) -> str:
        return str(self.application_id)

    @classmethod
    def write(cls, application: Application) -> None:
        """Replace the stored keys of an application's applicants if they changed."""
        digests = _digests_of(application)
        known = set(cls.objects.filter(application=application).values_list("digest", flat=True))
        if digests != known:
            cls.objects.filter(application=application).delete()
            PersonKey.objects.bulk_create(cls.keys_of(application))

    @classmethod
    def keys_of(cls, application: Application) -> "list[PersonKey]":
        """Return the unsaved keys of a new application."""
        return [cls(application=application, digest=digest) for digest in sorted(_digests_of(application))]


def _digests_of(application: Application) -> set[str]:
    """Return the keys of all applicants.

    If no applicant has an identifier, the only key is empty, so that `prune` finds a row.
    """
    persons: list[Person] = list(application.applicants or ())
    terms = {term for person in persons for term in _terms(str(application.provider_id), person)}
    return {blind_digests(term)[0] for term in terms} or ({""} if persons else set())


def identity_of(application: Application, applicant: int) -> str | None:
    """Return the hash input for an applicant's name and birth date, or None if either is unknown."""
    persons: list[Person] = list(application.applicants or ())
    whole = persons[applicant - 1 : applicant]
    return next((_identity(str(application.provider_id), person) for person in whole), None)


def _identity(provider_id: str, person: Person) -> str | None:
    name, born = " ".join(sorted(words_of(person["legal_name"]))), person.get("date_of_birth")
    return f"person:{provider_id}:name:{name}:{born}" if name and born else None


def _terms(provider_id: str, person: Person) -> Iterator[str]:
    if identity := _identity(provider_id, person):
        yield identity
    if email := person.get("email"):
        yield f"person:{provider_id}:email:{comparable(email)}"
    if phone := person.get("phone"):
        yield f"person:{provider_id}:phone:{phone}"


class PersonFigures(NamedTuple):
    """Figures from the first applicant's other applications to the same lender.

    `accounts` includes the account of this application.
    """

    open_applications: int
    days_since_rejection: int | None
    accounts: int


def person_figures(application: Application, now: datetime) -> PersonFigures:
    """Count the lender's other submitted applications with the same account or with a key of the first applicant.

    Costs one query. Applications of erased accounts are excluded.
    """
    first = next(iter(application.applicants or ()), None)
    terms = () if first is None else _terms(str(application.provider_id), first)
    digests = [digest for term in terms for digest in blind_digests(term)]
    keyed = PersonKey.objects.filter(digest__in=digests).values("application")
    others: Any = Application.objects.filter(
        Q(consumer=application.consumer_id) | Q(pk__in=keyed),
        provider_id=application.provider_id,
        submitted_at__isnull=False,
        consumer__erased_at__isnull=True,
    ).exclude(pk=application.pk)
    counted = others.aggregate(
        open=Count("pk", filter=Q(status__in=(*IN_REVIEW, PENDING_DOCUMENTS))),
        rejected_at=Max("reviewed_at", filter=Q(status=REJECTED)),
        accounts=Count(F("consumer"), distinct=True, filter=~Q(consumer=application.consumer_id)),
    )
    rejected_at = counted["rejected_at"]
    days = None if rejected_at is None else max(0, (now - rejected_at).days)
    return PersonFigures(counted["open"], days, counted["accounts"] + 1)
