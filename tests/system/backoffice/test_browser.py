"""The back office in a real browser, in light and dark; axe-core checks its pages."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from config.core.casework import DataAccess, ReplyTemplate
from credit.documents.requests import request_documents
from credit.models import Application, ApplicationHistory
from identity.access import keys
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.test_applications import make
from tests.credit.document_support import PDF, PNG, send_file
from tests.factories import PASSWORD, OfferFactory, UserFactory
from tests.ledger.conftest import SIGNING_KEY
from tests.processes import wait_until
from tests.system.browsing import add_app, check_at_widths, collect_errors


class Visit:
    """A browser window that records every error and every request to other servers."""

    def __init__(self, browser, server, **options):
        self.server = server.url
        self.page = browser.new_context(base_url=server.url, accept_downloads=True, **options).new_page()
        self.complaints, self.steps = collect_errors(self.page), 0
        self.page.on("request", self._record_foreign)

    def _record_foreign(self, request):
        if not request.url.startswith((self.server, "data:", "blob:")):
            self.complaints.append(request.url)

    def go(self, selector):
        """Click an element that opens another page, and wait for the page."""
        with self.page.expect_navigation():
            self.page.click(selector)

    def check_page(self, name, *widths):
        """Check that the page has a title and one heading, fits the window at these widths, and passes axe."""
        self.steps += 1
        assert self.page.title().partition("|")[0].strip()
        assert self.page.locator("h1").count() == 1, name
        assert self.complaints == [], name
        check_at_widths(self.page, f"{self.steps:02d}-{name}", widths or [self.page.viewport_size["width"]])
        self.complaints.clear()  # axe adds styles, which the content security policy rejects

    def log_in(self, username):
        """Open the back office with a new session."""
        cookies = backoffice_client(get_user_model().objects.get(username=username)).cookies
        self.page.context.add_cookies(
            [{"name": name, "value": cookie.value, "url": self.server} for name, cookie in cookies.items()]
        )
        self.page.goto("/admin/")

    def enter(self, username, check=lambda _name: None):
        """Enter the password, and add an authenticator app. Calls `check` with the name of each page."""
        self.page.fill("#id_login", username)
        self.page.fill("#id_password", PASSWORD)
        self.go("button.primary")
        add_app(self.page, PASSWORD, check)


def anchor_decisions(live_server):
    """Anchor the decisions in a ledger, which the live server serves during the call."""
    with override_settings(ROOT_URLCONF="ledger.urls", CHAIN_URL=live_server.url):
        call_command("anchor_decisions", once=True, stdout=StringIO())


@pytest.fixture
def waiting_applications(settings, transactional_db, tmp_path):
    """Applications that wait for a reviewer, with staff in three roles."""
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "ledger.example/log", SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    now = timezone.now()
    staff_of("Reviewer", username="rita")
    staff_of("Support", username="sam")
    staff_of("Operations", username="omar")
    ReplyTemplate.objects.create(use="documents", name="October", text="Payslip of October\nPayslip of November")
    offer = OfferFactory(name="Harbour loan", apr_min_percent=9.9, apr_max_percent=14.9, term_options_months=[24, 36])
    applicant = UserFactory(username="jane", email="jane@example.test")
    data = {"amount_cents": 700_000, "term_months": 24, "purpose": "<b>roof</b>"}
    for days in (26, 12, 3, 2, 1):
        make(
            consumer=applicant,
            offer_id=offer.pk,
            offer_version=1,
            offer_snapshot=offer.terms(),
            application_data=data,
            submitted_at=now - timedelta(days=days),
        )
    keys.create_api_key(owner=applicant, name="shop", scopes=None, now=now)


@pytest.fixture
def uploaded_files(waiting_applications):
    """An image and a PDF of the application that has waited longest."""
    application = Application.objects.earliest("submitted_at")
    request_documents(application, ["Passport", "Payslip"], by=application.consumer, now=timezone.now())
    passport, payslip = application.requested_documents.all()
    api = client_of(application.consumer)
    assert send_file(api, application, PNG, "passport.png", document=passport).status_code == 201
    assert send_file(api, application, PDF, "payslip.pdf", document=payslip).status_code == 201


def test_a_reviewer_decides_waiting_applications_in_a_browser(waiting_applications, settings, chromium, live_server):
    settings.BACKOFFICE_SECOND_FACTOR = True
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    page.goto("/admin/")
    visit.check_page("log-in")
    visit.enter("rita", visit.check_page)
    visit.check_page("landing")

    visit.go("text=Applications to review")
    visit.check_page("queue")
    page.go_back()
    # To open the oldest application, request a document, and open the next takes three clicks.
    visit.go("text=Take the oldest")
    assert "26 days of 30" in page.inner_text(".case-bar")
    assert "$7,000.00" in page.inner_text(".case-bar")
    assert "In figures" in page.inner_text("#content-main")
    oldest = page.url
    visit.check_page("oldest")
    visit.go(".case-actions >> text=Request documents")
    wait_until(lambda: page.evaluate("document.activeElement.id") == "id_documents")
    page.keyboard.type("Payslip of September")
    page.select_option("#id_documents_template", label="October")
    page.click("text=Insert")
    assert page.input_value("#id_documents") == "Payslip of September\nPayslip of October\nPayslip of November"
    visit.check_page("request-documents")
    page.fill("#id_documents", "Payslip of September\nPayslip of October")
    page.fill("#id_reason", "Please send these two.")
    visit.go("input[name=next]")
    assert "is now pending documents" in page.inner_text(".messagelist")
    assert "12 days of 30" in page.inner_text(".case-bar")
    visit.check_page("next")

    page.goto(oldest)
    page.click(".paper summary >> nth=0")
    page.fill(".paper input[name=reason] >> nth=0", "By post.")
    visit.go("text=Mark as received >> nth=0")
    assert "is received on paper" in page.inner_text(".messagelist")
    page.fill("#note-text", "Both came by post.")
    visit.go("text=Add the note")
    visit.check_page("note")
    page.locator("h1").click()
    page.keyboard.press("?")
    assert "List" in page.inner_text("dialog")
    page.keyboard.press("Escape")

    with page.expect_navigation():
        page.keyboard.press("n")
    assert "12 days of 30" in page.inner_text(".case-bar")
    assert "rita, since" in page.inner_text(".record-side")
    visit.go(".case-actions >> text=Approve")
    wait_until(lambda: page.evaluate("document.activeElement.id") == "id_amount")
    page.fill("#id_reason", "Income is enough")
    visit.check_page("approve")
    visit.go("input[type=submit].default")
    assert "is now approved" in page.inner_text(".messagelist")
    assert "Income is enough" in page.inner_text(".timeline")
    visit.check_page("approved")
    anchor_decisions(live_server)
    page.reload()
    assert "Decision 1 anchored in the ledger" in page.inner_text(".timeline")
    visit.check_page("anchored")
    visit.go("text=All records")
    visit.go("text=Decision anchors")
    visit.check_page("anchors")

    page.goto("/admin/credit/application/?queue=review")
    page.check("#action-toggle")
    page.select_option("select[name=action]", "move_to_rejected")
    visit.go("text=Go")
    visit.check_page("bulk-preview")
    page.select_option("#id_code_1", "income_insufficient")
    visit.go("input[type=submit]")
    assert "Done: 3 of 3." in page.inner_text("#content-main")
    visit.check_page("bulk-result")
    assert Application.objects.filter(status="rejected").count() == 3
    assert ApplicationHistory.objects.count() == 5

    page.goto("/admin/credit/application/?queue=decided")
    with page.expect_download() as download:
        page.click("text=Export as CSV")
    assert Path(download.value.path()).read_text().count("\n") == 5
    assert DataAccess.objects.filter(action="export").count() == 1
    page.goto("/admin/credit/application/?q=unknown")
    visit.check_page("no-result")


def test_a_reviewer_opens_accepts_and_requests_files_in_a_browser(uploaded_files, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    visit.log_in("rita")
    visit.go("text=Applications to review")
    visit.go("#result_list tbody tr:first-child th a")
    visit.check_page("uploaded")
    with page.context.expect_page() as opened:
        page.click("text=View passport.png")
    opened.value.wait_for_load_state()
    image = opened.value.locator("img")
    assert image.count() == 1
    assert image.evaluate("image => image.naturalWidth") == 1
    opened.value.close()
    with page.expect_download() as download:
        page.click("text=Download payslip.pdf")
    assert Path(download.value.path()).read_bytes() == PDF
    assert DataAccess.objects.filter(details__contains="sha256").count() == 2
    visit.go("text=Accept >> nth=0")
    assert "“Passport” is accepted" in page.inner_text(".messagelist")
    page.fill("[aria-label='Reason to request Payslip again']", "The second page is missing.")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "“Payslip” is requested" in page.inner_text(".messagelist")
    assert "The second page is missing." in page.inner_text(".checklist")
    page.set_viewport_size({"width": 390, "height": 844})
    visit.check_page("requested-again")


def test_back_office_pages_of_support_and_operations_fit_the_screen_and_pass_axe(
    waiting_applications, chromium, live_server
):
    support = Visit(chromium, live_server, viewport={"width": 1280, "height": 800})
    support.log_in("sam")
    for name, path in (
        ("landing", "/admin/"),
        ("users", "/admin/identity/user/"),
        ("events", "/admin/webhooks/event/"),
    ):
        support.page.goto(path)
        support.check_page(f"support-{name}")
    support.page.goto("/admin/credit/application/")
    support.go("#result_list tbody tr:first-child th a")
    assert "Personal data is masked." in support.page.inner_text("#content-main")
    support.check_page("support-application")
    support.go("text=Show personal data")
    support.check_page("support-unmask")

    operations = Visit(chromium, live_server, viewport={"width": 1280, "height": 800})
    operations.log_in("omar")
    operations.page.goto("/admin/identity/apikey/")
    operations.check_page("keys")
    operations.go("#result_list tbody tr:first-child th a")
    operations.go("text=Rotate")
    operations.check_page("rotate")
    operations.go("input[type=submit]")
    assert "Only the owner can collect it" in operations.page.inner_text(".messagelist")
    operations.check_page("rotated")
    operations.page.goto("/admin/backoffice/dataaccess/")
    operations.check_page("data accesses")


CUT = "[...document.querySelectorAll('.results')].some(frame => frame.scrollWidth > frame.clientWidth)"


def test_review_pages_of_the_back_office_fit_1280_and_1024_pixels(waiting_applications, chromium, live_server):
    """Also checks that Escape closes a menu, and that a changed amount or rate updates the terms."""
    visit = Visit(chromium, live_server, viewport={"width": 1280, "height": 800})
    page = visit.page
    visit.log_in("rita")
    visit.go("text=Applications to review")
    assert not page.evaluate(CUT)
    assert (
        page.locator("#result_list td.field-amount").first.evaluate("cell => getComputedStyle(cell).textAlign") == "end"
    )
    assert page.locator("nav.main-links a[aria-current]").inner_text() == "Applications"
    visit.check_page("queue-widths", 1280, 1024)
    visit.go("#result_list tbody tr:first-child th a")
    page.click("summary:has-text('More')")
    assert page.locator(".menu-panel >> text=Withdraw").first.is_visible()
    visit.check_page("case-widths", 1280, 1024)
    page.keyboard.press("Escape")
    assert not page.locator(".menu-panel >> text=Withdraw").first.is_visible()
    visit.go(".case-actions >> text=Approve")
    before = page.inner_text("#terms")
    page.fill("#id_amount", "5,000")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.press("#id_amount", "Tab")
    wait_until(lambda: page.inner_text("#terms") != before)
    assert "$5,000.00 at 9.90% for 24 months" in page.inner_text("#terms")
    visit.check_page("decision-widths", 1280, 1024)
    page.fill("#id_rate_percent", "3")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.press("#id_rate_percent", "Tab")
    page.wait_for_selector("[data-figure=rate_percent] .errorlist")
    assert "The rates of the offer begin at 9.9%." in page.inner_text("[data-figure=rate_percent]")
    page.fill("#id_rate_percent", "10")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.press("#id_rate_percent", "Tab")
    page.wait_for_selector("#terms table")
    visit.go("input[type=submit].default")
    assert "is now approved" in page.inner_text(".messagelist")


def test_a_back_office_list_wider_than_the_window_shows_a_notice(waiting_applications, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 1024, "height": 900})
    visit.log_in("rita")
    page = visit.page
    page.goto("/admin/credit/application/")
    assert "Scroll sideways" not in page.evaluate(
        "getComputedStyle(document.querySelector('.results'), '::before').content"
    )
    page.evaluate("document.querySelector('#result_list td.field-offer').style.minWidth = '60rem'")
    page.wait_for_selector(".results.wide")
    assert "Scroll sideways" in page.evaluate(
        "getComputedStyle(document.querySelector('.results'), '::before').content"
    )
    page.evaluate("document.querySelector('.results').scrollLeft = 400")
    first_column = page.locator("#result_list tbody tr:first-child th").bounding_box()
    assert first_column["x"] >= page.locator(".results").bounding_box()["x"]


def test_case_page_shows_each_action_once_in_one_line(waiting_applications, settings, chromium, live_server):
    settings.REVIEW_POLICY = "four_eyes"
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    visit.log_in("rita")
    page.goto("/admin/credit/application/?queue=review")
    visit.go("#result_list tbody tr:first-child th a code")
    tops = page.eval_on_selector_all(".case-actions > li", "items => items.map(item => item.offsetTop)")
    assert len(tops) == 5
    assert max(tops) - min(tops) < 10
    labels = page.locator(".case-bar a.button").all_text_contents()
    assert len(labels) == len(set(labels))
    page.click(".more summary")
    for label in ("Propose approval", "Request documents"):
        assert page.locator(f".case-bar :text-is('{label}')").count() == 1
        assert page.locator(f".menu-panel :text-is('{label}')").count() == 0
    moved = page.locator(".menu-panel :text-is('Request documents')")
    page.set_viewport_size({"width": 390, "height": 844})
    moved.wait_for()  # the script moves the buttons after the change of the width
    assert page.locator(".case-bar a.button").all_text_contents() == labels
    page.set_viewport_size({"width": 1440, "height": 900})
    moved.wait_for(state="detached")


def test_a_reviewer_approves_an_application_on_a_phone_without_javascript(waiting_applications, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 390, "height": 844}, java_script_enabled=False)
    visit.log_in("rita")
    visit.page.goto("/admin/credit/application/?queue=review")
    visit.go("#result_list tbody tr:first-child th a code")
    visit.go("text=Approve")
    visit.go("input[type=submit].default")
    assert "is now approved" in visit.page.inner_text(".messagelist")


def test_back_office_pages_fit_a_phone(waiting_applications, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 390, "height": 844})
    visit.log_in("rita")
    visit.check_page("phone-landing")
    visit.page.goto("/admin/credit/application/?queue=review")
    visit.check_page("phone-queue")
    visit.go("#result_list tbody tr:first-child th a code")
    visit.check_page("phone-application")
    visit.page.click(".more summary")
    visit.go(".menu-panel .to-rejected")
    visit.check_page("phone-reject")
