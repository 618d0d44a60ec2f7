"""Test how the case page shows applicants, and application data with the titles of the offer's schema."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.core.encryption import sealed_values
from config.core.lifecycle import Actor
from credit.applications.services import change_application
from credit.core.applicants import Applicants
from credit.core.figures import reference_of
from credit.models import Application, Clock, Proposal
from tests.backoffice.pages import text_of
from tests.credit.applicants import LEAST, PERSON, SECRETS
from tests.credit.requirements.schemas import TERMS
from tests.factories import ApplicationFactory, OfferFactory

pytestmark = pytest.mark.django_db
DATA = {
    "amount_cents": 250_000, "purpose": "<b>car</b>", "monthly_income_cents": 300_050, "employed_since": "Feb 1, 2020",
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
def test_case_page_shows_data_with_titles_and_formatted_values(reviewers_client, case, status):
    if status == "draft":
        offer = OfferFactory(application_schema=TERMS)
        Application.objects.update(status="draft", submitted_at=None, offer_snapshot=None, offer_id=offer.pk)
    shown = page(reviewers_client, case)
    for title, value in (
        ("Purpose", "&lt;b&gt;car&lt;/b&gt;"), ("Monthly income", "$3,000.50"), ("Employed since", "Feb 1, 2020"),
        ("Owns a home", "yes"), ("Rate wanted", "7.25"), ("Remarks", "5"), ("Other", "qq apart"),
        ("Applicant 2", "Li Wei"),
    ):  # fmt: skip
        assert f'<th scope="row">{title}</th><td><bdi>{value}</bdi></td>' in shown
    assert '<strong class="case-amount">$2,500.00</strong>' in shown
    assert "&quot;" not in shown
    assert [secret for secret in SECRETS if secret not in shown] == ["+15035550100", "1980-02-29"]
    assert "+1 503 555 0100" in shown
    assert "February 29, 1980" in shown


def test_support_cannot_read_application_data_or_applicants_without_unmasking(supports_client, case):
    shown = page(supports_client, case)
    assert [secret for secret in (*SECRETS, "Li Wei", "2,500.00", "qq apart") if secret in shown] == []
    assert case.applicants_sha256 in shown


def test_case_page_with_erased_or_undecryptable_applicants_shows_a_message(
    reviewers_client, supports_client, case, settings
):
    Application.objects.update(applicants=None)
    assert "Erased. The hash remains." in page(reviewers_client, case)
    kept, settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS, ["A" * 43 + "="]
    case.save(update_fields=["applicants"])
    settings.FIELD_ENCRYPTION_KEYS = kept
    assert "decrypts the data" in page(reviewers_client, case)
    assert "decrypts the data" not in page(supports_client, case)


def test_case_timeline_shows_a_change_of_applicants_without_names(reviewers_client, case):
    changes = {"applicants": [PERSON]}
    now = timezone.now()
    change_application(
        str(case.pk), actor=Actor(user=case.consumer, credential="jwt:x"), updated_by="jane", changes=changes, now=now
    )
    Application.objects.update(applicants=None)
    shown = page(reviewers_client, case)
    assert "Applicant 2: legal name" in shown
    assert "Li Wei" not in shown


class TestNames:
    """Pages where a reviewer selects or decides a case show the legal name first."""

    NAMES = "Rosa Quillfeather and Li Wei"

    def addresses(self, case):
        yield reverse("admin:credit_application_changelist")
        yield reverse("admin:credit_application_change", args=[case.pk])
        yield reverse("admin:credit_application_move", args=[case.pk, "under_review"])
        yield reverse("admin:credit_application_assign", args=[case.pk])

    def test_list_case_and_decision_pages_show_the_legal_name_to_reviewers(self, reviewers_client, case, reviewer):
        for address in self.addresses(case):
            assert self.NAMES in text_of(reviewers_client.get(address)), address
        text = text_of(reviewers_client.get(reverse("admin:credit_application_changelist")))
        assert f"{self.NAMES} {case.consumer.username} ({case.consumer_id})" in text
        shown = reviewers_client.get(reverse("admin:credit_application_move", args=[case.pk, "under_review"]))
        title = f"Start the review: application {self.NAMES} · {reference_of(case.pk)}"
        assert shown.context["title"] == title
        chosen = {"action": "move_to_under_review", "_selected_action": [str(case.pk)], "index": "0"}
        shown = reviewers_client.post(reverse("admin:credit_application_changelist"), chosen)
        assert f"{self.NAMES} · {reference_of(case.pk)}" in text_of(shown)
        Clock.start(case, Clock.REVIEW, now=timezone.now())
        Proposal.objects.create(
            application=case, to="approved", seen="x", proposed_by=reviewer, proposed_at=timezone.now()
        )
        for kind in ("clock", "proposal"):
            text = text_of(reviewers_client.get(reverse(f"admin:credit_{kind}_changelist")))
            assert f"{self.NAMES} {reference_of(case.pk)}" in text, kind

    def test_support_views_masked_names_without_decryption(self, supports_client, case, monkeypatch):
        Clock.start(case, Clock.REVIEW, now=timezone.now())
        opened = []
        monkeypatch.setattr(Applicants, "from_text", classmethod(lambda _cls, text: opened.append(text)))
        for address in (
            reverse("admin:credit_application_changelist"),
            reverse("admin:credit_application_change", args=[case.pk]),
            reverse("admin:credit_clock_changelist"),
        ):
            text = text_of(supports_client.get(address))
            assert "•••" in text, address
            assert "Quillfeather" not in text, address
        assert opened == []

    def test_case_title_with_an_arabic_name_is_displayed_from_left_to_right(self, reviewers_client, case):
        applicants = sealed_values(case, applicants=Applicants.of([{**PERSON, "legal_name": "عمر"}]))
        Application.objects.filter(pk=case.pk).update(**applicants)
        for address in self.addresses(case):
            shown = reviewers_client.get(address).content.decode()
            assert '<bdi dir="ltr">عمر · A-' in shown or '<bdi class="legal-name">عمر</bdi>' in shown, address

    def test_displaying_legal_names_executes_no_additional_sql_statements(
        self, reviewers_client, case, django_assert_max_num_queries
    ):
        address = reverse("admin:credit_application_changelist")
        reviewers_client.get(address)
        with CaptureQueriesContext(connection) as few:
            reviewers_client.get(address)
        for _ in range(5):
            case.pk = uuid4()
            case.save(force_insert=True)
        with django_assert_max_num_queries(len(few)):
            assert text_of(reviewers_client.get(address)).count(self.NAMES) == 6

    def test_back_office_pages_show_the_account_if_the_legal_name_is_undecryptable(
        self, reviewers_client, case, settings
    ):
        kept, settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS, ["A" * 43 + "="]
        case.save(update_fields=["applicants"])
        settings.FIELD_ENCRYPTION_KEYS = kept
        for address in self.addresses(case):
            shown = reviewers_client.get(address)
            assert shown.status_code == 200, address
            assert "Quillfeather" not in text_of(shown)
