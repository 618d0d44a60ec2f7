"""Test the pages under `/my`: the status of applications, the next steps, and the buttons."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.digest import digest_of
from config.core.lifecycle import Actor
from credit.core.applicants import Applicants
from credit.documents.requests import mark_document
from credit.models import Application, Consent, DocumentFile
from credit.my.words import delivery_in_words
from credit.notices.services import consent_text, give_consent
from tests.credit.applicants import PERSON
from tests.credit.document_support import PDF, with_documents
from tests.credit.notices.world import World
from tests.credit.support import make_reviewer as reviewer
from tests.credit.terms.lending import applied, lender_of
from tests.factories import ApplicationFactory, OfferFactory, ProviderFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]


def browser_of(user, **options):
    browser = Client(**options)
    browser.force_login(user)
    return browser


def page_of(application, user=None):
    answer = browser_of(user or application.consumer).get(f"/my/applications/{application.pk}")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def state_in(answer):
    """Return the state that a form of the page contains, or "" if the page has no such form."""
    field = re.search(r'name="state" value="([^"]*)"', answer.content.decode())
    return field[1] if field else ""


def press_button(application, do, user=None, **data):
    """Press a button; return the page after the redirect. With a `state`, the page was opened before."""
    browser = browser_of(user or application.consumer)
    application.refresh_from_db()
    data = {"state": application.updated_at.isoformat(), **data, "do": do}
    answer = browser.post(f"/my/applications/{application.pk}", data, follow=True)
    assert answer.redirect_chain == [(f"/my/applications/{application.pk}", 302)]
    application.refresh_from_db()
    return " ".join(answer.content.decode().split())


def upload_file(application, content=PDF, browser=None):
    document = application.requested_documents.get()
    path = f"/my/applications/{application.pk}/documents/{document.pk}"
    file = SimpleUploadedFile("payslip.pdf", content)
    answer = (browser or browser_of(application.consumer)).post(path, {"file": file}, follow=True)
    return " ".join(answer.content.decode().split())


class TestList:
    def test_application_list_page_shows_own_applications_with_lender_and_next_step(self, offer):
        mine, others = applied(offer), applied(offer)
        page = browser_of(mine.consumer).get("/my").content.decode()
        assert str(mine.pk) in page
        assert str(others.pk) not in page
        for words in (offer.provider.name, f"<bdi>{offer.name}</bdi>", "$10,000.00", "Under review"):
            assert words in page
        browser = browser_of(reviewer())
        assert str(mine.pk) not in browser.get("/my").content.decode()
        for method in (browser.get, browser.post):
            assert method(f"/my/applications/{mine.pk}").status_code == 404
        assert browser.get(f"/my/applications/{mine.pk}/agreement").status_code == 404
        older = ApplicationFactory(provider_id=991, created_at=timezone.now() - timedelta(days=1))
        ProviderFactory(id="991", name="Pretender", created_at=timezone.now())
        assert "Pretender" not in browser_of(older.consumer).get("/my").content.decode()

    def test_application_list_page_executes_a_fixed_number_of_sql_statements(self, offer, django_assert_num_queries):
        user = UserFactory()
        for _ in range(25):
            applied(offer, consumer=user)
        browser = browser_of(user)
        with django_assert_num_queries(8):
            page = browser.get("/my").content.decode()
        assert page.count("<h2 ") == 20
        assert browser.get("/my?page=2").content.decode().count("<h2 ") == 5
        assert browser.get("/my?page=x").status_code == 404
        assert 'href="/my"' in browser.get("/account/").content.decode()
        for path in ("", "/applications/01a20000-0000-7000-8000-000000000000"):
            assert Client().get(f"/my{path}").headers["Location"].startswith("/account/login")

    def test_application_page_reads_applicants_for_the_language_and_for_its_content_only(self, offer):
        application = applied(offer, applicants=Applicants.of([PERSON]))
        browser = browser_of(application.consumer)
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(f"/my/applications/{application.pk}").status_code == 200
        read = [query["sql"] for query in captured if '"credit_application"."applicants"' in query["sql"]]
        assert len(read) == 2


class TestButtons:
    def test_submit_button_of_an_incomplete_draft_lists_missing_items(self, offer):
        schema = {
            "type": "object",
            "properties": {"income": {"type": "integer", "title": "Income a year"}},
            "required": ["income"],
        }
        asking = OfferFactory(provider=offer.provider, application_schema=schema)
        application = applied(asking, status="draft", submitted_at=None)
        page = page_of(application)
        assert "“Income a year” is missing." in page
        assert 'value="send"' not in page
        assert "Something is still missing." in press_button(application, "send")
        assert application.status == "draft"

    def test_withdraw_button_withdraws_the_application(self, offer):
        application = applied(offer)
        assert "The application was withdrawn." in press_button(application, "withdraw")
        assert "The application has changed." in press_button(application, "withdraw")
        assert application.status == "withdrawn"

    def test_draft_can_be_closed_only_before_its_submission(self, offer):
        draft = applied(offer, status="draft", submitted_at=None)
        page = page_of(draft)
        assert "Close this draft" in page
        assert "The lender stops the review." not in page
        page = press_button(draft, "close")
        assert "The draft was closed." in page
        assert "Content of the application" in page
        assert draft.status == "withdrawn"
        listed = browser_of(draft.consumer).get("/my").content.decode()
        for shown in (page, listed):
            assert '<strong class="standing">Draft closed</strong>' in shown
            assert "The lender never received this draft." in shown
            assert "Withdrawn" not in shown
        application = applied(offer)
        assert "Close this draft" not in page_of(application)
        assert "The application has changed." in press_button(application, "close")
        assert application.status == "under_review"

    @pytest.mark.parametrize("state", ["", "2026-01-01T00:00:00+00:00"])
    def test_submit_button_of_an_outdated_draft_page_submits_nothing(self, offer, state):
        draft = applied(offer, status="draft", submitted_at=None)
        page = press_button(draft, "send", state=state)
        assert "The application was changed after you opened the page. Nothing was sent." in page
        assert draft.status == "draft"
        shown = state_in(browser_of(draft.consumer).get(f"/my/applications/{draft.pk}"))
        assert "The application was sent to the lender." in press_button(draft, "send", state=shown)
        # The second request of a double click.
        assert "The application has changed. Check its current status." in press_button(draft, "send", state=shown)
        assert draft.status == "submitted"

    def test_unknown_button_of_the_application_page_changes_nothing(self, offer, settings):
        application = applied(offer)
        assert "Nothing was changed" in press_button(application, "approve")
        settings.REVIEW_POLICY = "open"  # This policy does not let applicants review on their page.
        press_button(application, "send")
        assert application.status == "under_review"

    def test_application_button_without_a_csrf_token_is_rejected(self, offer):
        application = applied(offer)
        browser = browser_of(application.consumer, enforce_csrf_checks=True)
        assert browser.post(f"/my/applications/{application.pk}", {"do": "withdraw"}).status_code == 403
        assert Application.objects.get().status == "under_review"

    def test_application_buttons_use_the_write_rate_limit(self, offer, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": 1}
        application = applied(offer)
        press_button(application, "send")
        assert "You sent too many requests." in press_button(application, "withdraw")

    def test_draft_page_states_above_the_send_button_that_answers_must_be_true(self, offer):
        draft = applied(offer, status="draft", submitted_at=None)
        page = page_of(draft)
        assert page.index("Your answers must be true and complete.") < page.index("Send to the lender")
        press_button(draft, "send")
        assert "must be true and complete" not in page_of(draft)

    def test_draft_page_states_who_requests_credit_reports_and_links_the_privacy_policy(self, offer, settings):
        settings.PRIVACY_POLICY_URL = "https://www.example/privacy"
        draft = applied(offer, status="draft", submitted_at=None)
        page = page_of(draft)
        assert "The platform requests no credit report when you compare offers, save a draft, or send" in page
        assert '<a href="https://www.example/privacy">privacy policy</a> of Credit Platform describes how' in page
        press_button(draft, "send")
        assert "requests no credit report" not in page_of(draft)
        assert "this request can affect your credit score." in Client().get(f"/my/apply/{offer.pk}").content.decode()


class TestDocuments:
    def test_applicant_can_upload_a_document_and_send_the_application_back_to_review(self):
        application = with_documents(UserFactory())
        page = page_of(application)
        assert "Payslip" in page
        assert "Send the documents to the lender" not in page
        assert "The file was uploaded." in upload_file(application)
        assert DocumentFile.objects.get().credential == "my"
        assert "Send the documents to the lender" in page_of(application)
        press_button(application, "send")
        assert application.status == "under_review"

    def test_application_page_shows_the_request_reason_and_the_counteroffer_above_documents(self):
        world = World(start=timezone.now())
        world.submit(0)
        world.request_documents(0)
        page = page_of(world.application)
        assert 0 < page.index("Message from the lender") < page.index("Please.") < page.index("Payslip")
        world.supply(0)
        world.counter(0)
        page = page_of(world.application)
        assert 0 < page.index("Check the terms and decide") < page.index("Payslip")
        assert "<h2>Message from the lender</h2>" not in page
        assert 'Message from the lender:</span> <bdi class="hint">Please.</bdi>' in page

    def test_document_upload_page_rejects_a_missing_large_or_unsupported_file_with_a_message(self, settings):
        settings.FILE_UPLOAD_MAX_BYTES = 1_000
        application = with_documents(UserFactory())
        assert "must be a PDF, JPEG, or PNG" in upload_file(application, b"MZ")
        assert "The file is too large." in upload_file(application, PDF + b"x" * 2_000)
        assert "The file is too large." in upload_file(application, PDF + b"x" * 200_000)
        path = f"/my/applications/{application.pk}/documents/{application.requested_documents.get().pk}"
        empty = upload_file(application, b"")
        assert "The file is empty. Choose another file, or save it again." in empty
        assert '<p class="message wrong" role="alert">The file is empty.' in empty
        assert "<title>Errors: " in empty
        page = upload_file(with_documents(UserFactory()))
        assert '<p class="message" role="status">The file was uploaded.' in page
        assert "<title>Errors" not in page
        assert "Choose a file first." in browser_of(application.consumer).post(path, follow=True).content.decode()
        assert not application.requested_documents.get().files.exists()

    def test_each_upload_field_has_the_document_name_and_a_separate_error(self):
        application = with_documents(UserFactory(), "Payslip", "Lease")
        payslip, lease = application.requested_documents.order_by("id")
        path = f"/my/applications/{application.pk}/documents/{lease.pk}"
        browser = browser_of(application.consumer)
        answer = browser.post(path, {"file": SimpleUploadedFile("lease.pdf", b"MZ")})
        assert answer.headers["Location"] == f"/my/applications/{application.pk}#file-{lease.pk}"
        page = browser.get(f"/my/applications/{application.pk}").content.decode()
        for document, is_wrong in ((payslip, False), (lease, True)):
            field = f"file-{document.pk}"
            assert f'<label for="{field}"><bdi>{document.name}</bdi></label>' in page
            error = re.search(rf'<div id="{field}-error">(.*?)</div>', page)[1]
            assert ("must be a PDF, JPEG, or PNG" in error) is is_wrong
            attributes = re.search(rf'<input type="file" id="{field}"([^>]*)>', page)[1]
            assert f'aria-describedby="{field}-hint {field}-error"' in attributes
            assert ('aria-invalid="true"' in attributes) is is_wrong

    def test_document_upload_page_rejects_a_file_for_an_accepted_document(self):
        application = with_documents(UserFactory())
        upload_file(application)
        document = application.requested_documents.get()
        mark_document(application, document.pk, "accepted", by=UserFactory(), now=timezone.now())
        assert "It was accepted." in page_of(application)
        assert "accepts no more files" in upload_file(application)

    def test_document_upload_page_rejects_another_account_or_a_missing_csrf_token(self):
        application = with_documents(UserFactory())
        without_token = browser_of(application.consumer, enforce_csrf_checks=True)
        for browser in (browser_of(UserFactory()), without_token, Client()):
            upload_file(application, browser=browser)
        assert not DocumentFile.objects.exists()


BY_POST = "We also send these notices by post."
PRICING_IS_HERE = "The notice about your credit report and the price of the credit is only available here."


def test_delivery_text_of_a_pricing_notice_does_not_mention_post_if_the_portal_is_a_channel(settings):
    for channels, kinds, expected in (
        (["portal", "post"], ["pricing"], ""), (["post"], ["pricing"], BY_POST),
        (["portal", "post"], ["approval", "pricing"], f"{BY_POST} {PRICING_IS_HERE}"),
    ):  # fmt: skip
        settings.NOTICE_CHANNELS = channels
        assert delivery_in_words(kinds, has_consented=False) == expected


def without_way_back(answer, application):
    """Return the page of a notice without the links above it; check the link to its application."""
    links = re.search(r"(?s)(?<=<body>).*?</nav>(?=\s*<main>)", answer.content.decode())[0]
    assert f'href="/my/applications/{application.pk}"' in links
    return answer.content.decode().replace(links, "")


class TestNotices:
    @pytest.fixture
    def rejected(self, offer):
        application = applied(offer)
        body = {"status": "rejected", "updated_by": "x", "metadata": {"reasons": ["income_insufficient"]}}
        address = {"line1": "1 Main St", "city": "Springfield", "postal_code": "62701", "country": "US"}
        persons = [{"legal_name": "Ada Example", "address": address}]
        application.applicants = Applicants.of(persons)
        application.save()
        offer.provider.name, offer.provider.address = "Bank", "9 Bank St, Springfield"
        offer.provider.save()
        assert lender_of(offer).replace(f"/applications/{application.pk}/status", body).status_code == 200
        call_command("issue_notices", once=True, stdout=StringIO())
        return application

    def test_reading_a_notice_page_with_consent_to_electronic_notices_records_the_delivery(self, rejected):
        notice = rejected.notices.get()
        assert (notice.status, notice.waits_for) == ("ready", "")
        assert f"/notices/{notice.pk}" in page_of(rejected)
        path = f"/my/applications/{rejected.pk}/notices/{notice.pk}"
        assert browser_of(UserFactory()).get(path).status_code == 404
        answer = browser_of(rejected.consumer).get(path)
        assert without_way_back(answer, rejected) == notice.html
        assert notice.deliveries.count() == 0
        assert "You also receive these notices by post or from the lender." in page_of(rejected)
        text = consent_text("en")
        actor = Actor(user=rejected.consumer, credential="jwt")
        give_consent(text_sha256=digest_of(text), language="en", actor=actor, now=timezone.now())
        assert "You also receive these notices" not in page_of(rejected)
        answer = browser_of(rejected.consumer).get(path)
        assert without_way_back(answer, rejected) == notice.html
        notice.refresh_from_db()
        assert (notice.status, notice.deliveries.get().channel) == ("delivered", "portal")

    def test_application_page_mentions_only_the_notice_channels_of_the_installation(self, rejected, settings):
        sentences = {
            ("portal", "post"): "We also send these notices by post.",
            ("portal", "provider"): "You also receive these notices from the lender.",
            ("portal", "email"): None,
        }
        for channels, sentence in sentences.items():
            settings.NOTICE_CHANNELS = [*channels]
            page = page_of(rejected)
            assert [words for words in sentences.values() if words and words in page] == [sentence] * bool(sentence)
            assert ("Receive notices electronically instead" in page) is bool(sentence)

    def test_application_page_accepts_only_one_reconsideration_request(self, rejected):
        assert "Request reconsideration" in page_of(rejected)
        assert "at most 4,000 characters" in press_button(rejected, "ask_again", statement=" ")
        assert "A reviewer who had no part" in press_button(rejected, "ask_again", statement="I have a raise.\0")
        page = page_of(rejected)
        assert "You requested reconsideration on" in page
        assert "A reviewer reconsiders the decision." in page
        assert "You can request reconsideration" not in page
        assert "A reviewer reconsiders the decision." in browser_of(rejected.consumer).get("/my").content.decode()
        assert "I have a raise." in page
        assert "<textarea" not in page
        assert rejected.review_requests.count() == 1

    def test_applicant_can_give_and_withdraw_consent_to_electronic_notices(self, user):
        browser = browser_of(user)
        text = consent_text("es")
        page = browser.get("/my/consent", headers={"Accept-Language": "es"}).content.decode()
        assert digest_of(text) in page
        assert "?language=" not in page
        browser.post("/my/consent", {"do": "agree", "language": "es", "text_sha256": "0" * 64})
        assert not Consent.is_given_by(user.pk)
        browser.post("/my/consent", {"do": "agree", "language": "es", "text_sha256": digest_of(text)})
        assert Consent.is_given_by(user.pk)
        assert "Withdraw the consent" in browser.get("/my/consent").content.decode()
        browser.post("/my/consent", {"do": "withdraw"})
        assert not Consent.is_given_by(user.pk)


def test_application_list_starts_with_applications_that_require_an_action_by_the_applicant():
    person, offer = UserFactory(), OfferFactory(provider=ProviderFactory())
    order = ["rejected", "submitted", "draft", "pending_documents", "withdrawn", "approved"]
    rows = {status: applied(offer, consumer=person, status=status) for status in order}
    page = browser_of(person).get("/my").content.decode()
    found = sorted(order, key=lambda status: page.index(f"/my/applications/{rows[status].pk}"))
    assert found == ["approved", "pending_documents", "draft", "submitted", "withdrawn", "rejected"]
