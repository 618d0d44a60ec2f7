"""The page of an application: who applies, and the data by the titles of the offer's schema."""

import pytest
from django.urls import reverse
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.applications.services import change_application
from credit.core.applicants import Applicants
from credit.models import Application
from tests.credit.applicants import LEAST, PERSON, SECRETS
from tests.credit.requirements.schemas import TERMS
from tests.factories import ApplicationFactory, OfferFactory

pytestmark = pytest.mark.django_db
DATA = {
    "amount_cents": 250_000, "purpose": "<b>car</b>", "monthly_income_cents": 300_050, "employed_since": "2020-02-01",
    "owns_home": True, "rate_wanted": 7.25, "remarks": 5, "other": "qq apart",
}  # fmt: skip


@pytest.fixture
def case(db):
    persons = Applicants.of([PERSON, {**PERSON, **LEAST, "address": {**PERSON["address"], **LEAST["address"]}}])
    return ApplicationFactory(
        status="submitted", submitted_at=timezone.now(), application_data=DATA, applicants=persons,
        applicants_sha256=persons.sha256, offer_snapshot=OfferFactory(application_schema=TERMS).terms(),
    )  # fmt: skip


def page(client, case):
    return client.get(reverse("admin:credit_application_change", args=[case.pk])).content.decode()


@pytest.mark.parametrize("status", ["draft", "submitted"])
def test_a_reviewer_reads_titles_and_values(reviewers_client, case, status):
    if status == "draft":
        offer = OfferFactory(application_schema=TERMS)
        Application.objects.update(status="draft", submitted_at=None, offer_snapshot=None, offer_id=offer.pk)
    shown = page(reviewers_client, case)
    for title, value in (
        ("Amount", "$2,500.00"), ("Purpose", "&lt;b&gt;car&lt;/b&gt;"), ("Monthly income", "$3,000.50"),
        ("Employed since", "2020-02-01"), ("Owns a home", "yes"), ("Rate wanted", "7.25"), ("Remarks", "5"),
    ):  # fmt: skip
        assert f"<th>{title}</th><td>{value}</td>" in shown
    assert "&quot;other&quot;: &quot;qq apart&quot;" in shown
    assert "&quot;purpose&quot;" not in shown
    assert [secret for secret in SECRETS if secret not in shown] == []
    assert "Li Wei" in shown


def test_support_reads_neither_before_they_are_unmasked(supports_client, case):
    shown = page(supports_client, case)
    assert [secret for secret in (*SECRETS, "Li Wei", "2,500.00", "qq apart") if secret in shown] == []
    assert case.applicants_sha256 in shown


def test_without_a_schema_the_data_is_shown_as_it_was_sent(reviewers_client, case):
    Application.objects.update(offer_snapshot=None)
    assert "&quot;purpose&quot;" in page(reviewers_client, case)


def test_erased_or_unreadable_applicants_do_not_break_the_page(reviewers_client, supports_client, case, settings):
    Application.objects.update(applicants=None)
    assert "Erased; the hash stays." in page(reviewers_client, case)
    kept, settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS, ["A" * 43 + "="]
    case.save(update_fields=["applicants"])
    settings.FIELD_ENCRYPTION_KEYS = kept
    assert "They cannot be read" in page(reviewers_client, case)
    assert "They cannot be read" not in page(supports_client, case)


def test_a_change_of_who_applies_is_on_the_timeline_without_names(reviewers_client, case):
    changes = {"applicants": [PERSON]}
    now = timezone.now()
    change_application(
        str(case.pk), actor=Actor(user=case.consumer, credential="jwt:x"), updated_by="jane", changes=changes, now=now
    )
    Application.objects.update(applicants=None)
    shown = page(reviewers_client, case)
    assert "applicants[1].legal_name" in shown
    assert "Li Wei" not in shown
