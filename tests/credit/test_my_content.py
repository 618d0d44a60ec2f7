"""Test the application page: its offer, data, applicants, and shared data in words."""

import re
from datetime import UTC, datetime

import pytest
from django.utils import timezone, translation

from credit.core.applicant_words import country_name
from credit.core.applicants import Applicants
from credit.core.countries import COUNTRIES
from credit.models import Application
from credit.models.reports import CREDIT, REQUESTED, Report
from identity.models import User
from tests.credit.applicants import LEAST, PERSON
from tests.credit.document_support import PDF, with_documents
from tests.credit.erasing import erase_applicants
from tests.credit.notices.world import World, provider_offer
from tests.credit.terms.lending import applied, lender_of, listed
from tests.credit.test_my_pages import browser_of, page_of, press_button, upload_file
from tests.factories import ApplicationFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
SCHEMA = {
    "type": "object",
    "properties": {
        "income_cents": {"type": "integer", "title": "What you earn a year"},
        "employed_since": {"type": "string", "format": "date"},
        "owns_home": {"type": "boolean", "title": "Do you own your home?"},
        "built": {"type": "integer", "title": "Year of construction"},
    },
}
DATA = {
    "amount_cents": 1_000_000, "term_months": 24, "income_cents": 5_400_050, "employed_since": "2019-04-01",
    "owns_home": False, "built": 1987, "car": {"brand": "Ōtomo", "value_cents": 90_000}, "names": ["A", "B"],
    "nothing": None,
}  # fmt: skip


def rows_of(page):
    return dict(re.findall(r'<th scope="row"><bdi>([^<]+)</bdi></th><td><bdi>([^<]+)</bdi></td>', page))


def written(application, persons, **columns):
    application.applicants = Applicants.of(persons)
    application.applicants_sha256 = application.applicants.sha256
    for name, value in columns.items():
        setattr(application, name, value)
    application.save()
    return application


def test_application_page_shows_data_with_the_offers_schema_titles():
    application = applied(listed(name="Home loan", application_schema=SCHEMA), data=DATA)
    assert rows_of(page_of(application)) == {
        "Offer": "Home loan", "Amount": "$10,000.00", "Number of months": "24", "What you earn a year": "$54,000.50",
        "Employed since": "April 1, 2019", "Do you own your home?": "No", "Year of construction": "1987",
        "Car, Brand": "Ōtomo", "Car, Value": "$900.00", "Names": "A, B",
    }  # fmt: skip


def test_application_page_shows_applicants_country_language_and_birth_in_words():
    page = page_of(written(applied(listed()), [{**PERSON, "language": "en"}, LEAST]))
    rows = rows_of(page)
    assert all(words in page for words in ("Applicant 1", "Applicant 2", "United States"))
    assert (rows["Date of birth"], rows["Email address"]) == ("February 29, 1980", "rosa@example.test")
    assert (rows["Language"], rows["Country"]) == ("English", "Latvia")


def test_draft_page_states_that_the_draft_is_not_submitted():
    offer = listed()
    draft = page_of(applied(offer, status="draft", submitted_at=None, offer_snapshot=None))
    assert "Content of the application" in draft
    assert "The lender can't see it before you send it." in draft
    assert rows_of(draft)["Offer"] == "Everyday loan"
    sent = page_of(applied(offer))
    assert "What you sent" in sent
    assert "before you send it" not in sent


def test_page_of_a_draft_has_the_same_titles_after_the_draft_is_closed():
    draft = applied(
        listed(application_schema=SCHEMA), status="draft", submitted_at=None, data=DATA, offer_snapshot=None
    )
    titles = rows_of(page_of(draft)).keys()
    assert "What you earn a year" in titles
    press_button(draft, "close")
    assert rows_of(page_of(draft)).keys() == titles


def test_application_page_lists_the_data_shared_with_the_lender():
    offer = listed()
    for share, is_shared in (([], False), (["bank", "identity"], True)):
        page = page_of(applied(offer, share=share))
        assert "This application and its documents" in page
        assert ("Your linked bank accounts" in page) is is_shared
        assert ("Your identity check" in page) is is_shared


def test_application_page_shows_the_lenders_name_and_address():
    world = World()
    page = page_of(world.application)
    assert "Cedar Bank" in page
    assert "1 Bank Street Portland, OR 97201" in page
    assert "Lender 903" in page_of(ApplicationFactory(provider_id=903))


def test_page_of_a_submitted_application_shows_the_offer_or_the_rejection_reason_first():
    world = World(person={**PERSON, "language": "en"}, start=datetime.now(UTC))
    link = f'href="/my/applications/{world.application.pk}/explanation#report"'
    assert link not in page_of(world.application)
    world.submit(0)
    page = page_of(world.application)
    assert link in page
    assert page.count("contact data are wrong, contact your lender.") == 1
    assert '<section id="lender">' in page
    name = world.application.offer_snapshot["name"]
    assert page.index(name) < page.index("What happens next")
    world.reject(0, ["income_insufficient"])
    page = page_of(world.application)
    assert page.index("Income insufficient for amount of credit requested") < page.index("What you sent")
    assert page.count("<h2>Why it was declined</h2>") == 1


@pytest.mark.parametrize(
    ("reasons", "shown"),
    [
        (["income_insufficient"], "<p><bdi>Income insufficient for amount of credit requested</bdi></p>"),
        (
            ["income_insufficient", "obligations_excessive"],
            "</bdi></li><li><bdi>Excessive obligations in relation to income</bdi></li>",
        ),
    ],
)
def test_pages_of_a_rejection_show_a_single_reason_as_a_paragraph_and_two_reasons_as_a_list(reasons, shown):
    world = World(person={**PERSON, "language": "en"}, start=datetime.now(UTC))
    world.submit(0)
    world.move(0, "rejected", metadata={"reasons": reasons}, reason="Apply again next year.")
    browser, path = browser_of(world.application.consumer), f"/my/applications/{world.application.pk}"
    for address in (path, f"{path}/explanation"):
        assert shown in browser.get(address).content.decode(), address


@pytest.mark.parametrize("metadata", [None, {"reasons": ["unknown_code"]}])
def test_page_of_a_rejection_without_valid_reasons_refers_to_the_lender(settings, offer, metadata):
    settings.REVIEW_POLICY = "open"
    application = applied(offer)
    body = {"status": "rejected", "updated_by": "name", "metadata": metadata}
    assert lender_of(offer).replace(f"/applications/{application.pk}/status", body).status_code == 200
    page = page_of(application)
    assert "<h2>Why it was declined</h2> <p>The lender has not stated its reasons yet." in page
    assert '<a href="#lender">To get the reasons, contact the lender.</a>' in page
    User.objects.filter(pk=application.consumer_id).update(language="es")
    assert "El prestamista todavía no ha indicado sus motivos." in page_of(application)


def test_page_of_a_rejection_with_an_empty_message_shows_its_principal_reasons(offer):
    application = applied(offer)
    body = {"status": "rejected", "updated_by": "name", "reason": "", "metadata": {"reasons": ["bankruptcy"]}}
    assert lender_of(offer).replace(f"/applications/{application.pk}/status", body).status_code == 200
    page = page_of(application)
    assert "<p><bdi>Bankruptcy</bdi></p>" in page
    assert "Message from the lender" not in page


def test_page_of_an_application_that_was_created_as_rejected_refers_to_the_lender():
    page = page_of(ApplicationFactory(status="rejected", initial_status="rejected"))
    assert "The lender has not stated its reasons yet." in page


def test_application_page_omits_erased_and_unreadable_applicants(settings):
    application = written(applied(listed()), [PERSON])
    settings.FIELD_ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    assert "The applicants are not available at the moment." in page_of(application)
    erase_applicants(application.consumer_id)
    assert "The applicants were deleted." in page_of(application)


@pytest.mark.parametrize(
    "data",
    [["a", {"b": 1}], "text", 3.5, {"a": [{"b": [1]}]}, {"x_cents": 1.5, "<b>x</b>": "<script>alert(1)</script>"}],
)
def test_application_page_renders_and_escapes_data_of_any_json_type(data):
    page = page_of(applied(listed(), data=data))
    assert "Your answers" in page
    assert "<script>" not in page
    assert "<b>" not in page


def test_application_page_shows_times_in_the_applicants_time_zone():
    world = World(person={**PERSON, "language": "en"}, start=datetime(2028, 2, 1, 3, tzinfo=UTC))
    world.submit(0)
    page = page_of(world.application)
    assert "January 31, 2028, 7:00 p.m. PST" in page
    assert "· since January 31, 2028" in page
    assert "· since January 31, 2028" in browser_of(world.consumer.user).get("/my").content.decode()


def living_in(region):
    return [{**PERSON, "address": {**PERSON["address"], "region": region}, "language": "en"}]


def test_draft_does_not_change_the_dates_or_the_language_of_the_application_list(user):
    offer = listed()
    sent = written(applied(offer, consumer=user), living_in("OR"))
    Application.objects.filter(pk=sent.pk).update(created_at=datetime(2028, 2, 1, 3, tzinfo=UTC))
    browser = browser_of(user, HTTP_ACCEPT_LANGUAGE="es")
    for persons in (None, living_in(None), living_in("HI")):
        draft = applied(offer, consumer=user, status="draft", submitted_at=None)
        if persons is not None:
            written(draft, persons)
        page = browser.get("/my").content.decode()
        assert "since January 31, 2028" in page
        assert re.search(r"The dates are in the time zone P[SD]T\.", page)


@pytest.mark.parametrize(("region", "zone"), [("IA", "C[SD]T"), (None, "UTC")])
def test_page_of_an_application_uses_the_time_zone_of_its_own_applicant(user, region, zone):
    offer, options = provider_offer(), {"consumer": user, "start": timezone.now()}
    older, newer = (World(offer, person=living_in(where)[0], **options) for where in (region, "OR"))
    older.submit(0)
    newer.submit(0)
    for world, label in ((older, zone), (newer, "P[SD]T")):
        page = page_of(world.application)
        labels = re.findall(r"[ap]\.m\. ([A-Z]+)", page)
        assert re.search(f"The dates are in the time zone {label}\\.", page)
        assert all(re.fullmatch(label, shown) for shown in labels)


def test_application_page_hides_the_reviewer_who_requested_a_report(user):
    application = applied(listed(), consumer=user)
    Report.objects.create(
        application=application, kind=CREDIT, status=REQUESTED, applicant=1, vendor="sandbox", purpose="review",
        requested_by=UserFactory(username="rita"), requested_at=application.created_at,
        look_at=application.created_at,
    )  # fmt: skip
    page = page_of(application)
    assert rows_of(page)["Requested by"] == "The lender"
    assert "rita" not in page


def test_application_page_lists_uploaded_files_after_the_decision():
    application = with_documents(UserFactory())
    upload_file(application, PDF)
    application.refresh_from_db()
    application.status = "withdrawn"
    application.save()
    page = page_of(application)
    assert "payslip.pdf" in page
    assert 'type="file"' not in page


def test_every_country_has_a_name_in_each_language():
    for language in ("en", "es", "de"):
        with translation.override(language):
            names = {country_name(code) for code in COUNTRIES}
        assert len(names) == len(COUNTRIES)
        assert not names & set(COUNTRIES)
