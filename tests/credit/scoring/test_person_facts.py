"""Test `person.…` facts, which count the person's other applications to a lender by keyed hashes."""

from datetime import timedelta
from random import Random

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone

from credit.applications.services import create_application, index_applicants, index_changed_applicants
from credit.core.facts import gather
from credit.models import Application, PersonKey
from credit.scoring.facts_of import facts_of
from tests.factories import UserFactory

NOW = timezone.now()
ANA = {
    "legal_name": "Ana María Pérez", "date_of_birth": "1990-04-05", "email": "ana@example.com", "phone": "+12025550143",
    "address": {"line1": "1 Main St", "city": "Austin", "region": "TX", "postal_code": "78701", "country": "US"},
    "language": "en",
}  # fmt: skip
NAMES = ("person.open_applications", "person.days_since_rejection", "person.accounts")
STRANGER = {**ANA, "legal_name": "Bo Ek", "email": "bo@example.com", "phone": "+12025550144"}

pytestmark = pytest.mark.django_db


def apply(user=None, *persons, provider=700, status="submitted", **columns):
    application = create_application(
        consumer_id=(user or UserFactory()).pk, offer_id=700_000, provider_id=provider, application_data=None,
        applicants=list(persons) or None, initial_status="draft", now=NOW,
    )  # fmt: skip
    Application.objects.filter(pk=application.pk).update(status=status, submitted_at=NOW, **columns)
    application.refresh_from_db()
    return application


def read(application):
    known = gather(
        NAMES, user_id=application.consumer_id, application_data=None, may_read=lambda _: True, now=NOW,
        application=application,
    )  # fmt: skip
    return tuple(known[name] for name in NAMES)


def test_person_facts_count_applications_under_another_account():
    for provider, same in enumerate((
        {"legal_name": "perez, ANA MARIA", "email": "x@example.com", "phone": None},
        {"legal_name": "Else", "email": "ANA@example.com", "phone": None},
        {"legal_name": "Else", "email": "x@example.com"},
    ), start=700):  # fmt: skip
        apply(None, {**ANA, **same}, provider=provider)
        rejected = {"status": "rejected", "reviewed_at": NOW - timedelta(days=9)}
        apply(None, {**ANA, **same}, provider=provider, **rejected)
        assert read(apply(None, ANA, provider=provider)) == (1, 9, 3)


def test_open_applications_fact_counts_the_undecided_applications(user):
    application = apply(user, ANA)
    for status, number in (
        ("submitted", 1), ("under_review", 2), ("pending_documents", 3), ("approved", 3), ("withdrawn", 3),
        ("expired", 3),
    ):  # fmt: skip
        apply(user, ANA, status=status)
        assert read(application)[0] == number, status


def test_person_facts_exclude_other_persons_and_other_lenders(user):
    apply(None, STRANGER)
    ours, theirs = (set(apply(user, ANA, provider=number).person_keys.values_list("digest")) for number in (701, 702))
    assert len(ours) == len(theirs) == 3
    assert not ours & theirs
    apply(None, {**ANA, "email": None, "phone": None, "date_of_birth": "1991-04-05"})
    assert read(apply(user, ANA)) == (0, None, 1)


def test_person_facts_exclude_drafts_and_erased_accounts():
    Application.objects.filter(pk=apply(None, ANA).pk).update(submitted_at=None, status="draft")
    erased = UserFactory()
    apply(erased, ANA)
    erased.erased_at = NOW
    erased.save()
    assert read(apply(None, ANA)) == (0, None, 1)


def test_person_hashes_are_recomputed_if_the_applicants_change(api, user):
    application = apply(user, ANA)
    response = api.replace(f"/applications/{application.pk}", {"updated_by": str(user.pk), "applicants": [STRANGER]})
    assert response.status_code == 200, response.content
    assert read(apply(None, ANA)) == (0, None, 1)
    assert read(apply(None, STRANGER)) == (1, None, 2)


def test_person_hashes_are_recomputed_after_a_rotation_of_the_encryption_key(settings):
    first = apply(None, ANA)
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]
    second = apply(None, ANA)
    assert read(second) == (1, None, 2)
    index_applicants()
    digests = [set(application.person_keys.values_list("digest")) for application in (first, second)]
    assert digests[0] == digests[1]
    assert read(second) == (1, None, 2)


def test_prune_writes_missing_person_hashes_once():
    application = apply(None, ANA)
    nameless = apply(None, {**ANA, "date_of_birth": None, "email": None, "phone": None})
    PersonKey.objects.all().delete()
    index_changed_applicants(now=NOW)
    assert (application.person_keys.count(), nameless.person_keys.count()) == (3, 1)
    keyless = Application.objects.filter(person_keys__isnull=True, applicants__isnull=False)
    assert not keyless.exists()
    assert read(apply(None, {**ANA, "date_of_birth": None, "email": None, "phone": None})) == (0, None, 1)


def test_fact_list_omits_person_facts_for_all_readers(user):
    application = apply(user, ANA)
    assert not [fact for fact in facts_of(application, now=NOW) if fact["name"].startswith("person.")]


def test_person_hashes_match_the_same_persons_as_plaintext_values():
    """Compare pairs of 20 random persons."""
    random = Random(44)
    created = []
    for _ in range(20):
        person = {
            **ANA,
            "legal_name": random.choice(("Ana Pérez", "Bo Ek", "Cy Dee")),
            "date_of_birth": random.choice(("1990-01-01", "1991-01-01")),
            "email": f"{random.randrange(15)}@example.com",
            "phone": f"+1202555{random.randrange(15):04}",
        }
        provider = random.choice((700, 701))
        created.append((apply(None, person, provider=provider), person, provider))
    for application, person, provider in created:
        same = [
            other
            for other, theirs, lender in created
            if other.pk != application.pk and lender == provider and (
                (theirs["legal_name"], theirs["date_of_birth"]) == (person["legal_name"], person["date_of_birth"])
                or theirs["email"] == person["email"] or theirs["phone"] == person["phone"]
            )
        ]  # fmt: skip
        assert read(application) == (len(same), None, len(same) + 1)
