"""A reviewer's work in a real browser, in light and dark, with every page checked by axe-core."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from config.core.casework import DataAccess
from credit.documents.requests import request_documents
from credit.models import Application, ApplicationHistory
from identity.access import keys
from tests.api import client_of
from tests.backoffice.conftest import staff_of
from tests.backoffice.test_applications import make
from tests.credit.document_support import PDF, PNG, send_file
from tests.credit.scoring.past import model_of, version_of
from tests.factories import PASSWORD, OfferFactory, UserFactory
from tests.ledger.conftest import SIGNING_KEY
from tests.processes import wait_until
from tests.system.browsing import add_app, fits, look_at_widths, noted


class Visit:
    """A user's browser window, which records every error."""

    def __init__(self, browser, server, **options):
        self.server = server.url
        self.page = browser.new_context(base_url=server.url, accept_downloads=True, **options).new_page()
        self.complaints, self.steps = noted(self.page), 0
        self.page.on("request", self._note_foreign)

    def _note_foreign(self, request):
        if not request.url.startswith((self.server, "data:", "blob:")):
            self.complaints.append(request.url)

    def go(self, selector):
        """Click an element that opens another page, and wait for the page."""
        with self.page.expect_navigation():
            self.page.click(selector)

    def look(self, name, *widths):
        """Check that the page has a title and a heading, fits the window at these widths, and passes axe."""
        self.steps += 1
        assert self.page.title().partition("|")[0].strip()
        assert self.page.locator("h1").count() == 1, name
        assert self.complaints == [], name
        look_at_widths(self.page, f"{self.steps:02d}-{name}", widths or [self.page.viewport_size["width"]])
        self.complaints.clear()  # axe adds styles that the policy rejects

    def log_in(self, username, *, looking=False):
        """Enter the password, add an authenticator app, and open the back office."""
        self.page.goto("/admin/")
        if looking:
            self.look("log-in")
        self.enter(username, self.look if looking else lambda _name: None)
        self.go("a:has-text('Back office')")

    def enter(self, username, look=lambda _name: None):
        self.page.fill("#id_login", username)
        self.page.fill("#id_password", PASSWORD)
        self.go("button.primary")
        add_app(self.page, PASSWORD, look)


def anchor_decisions(live_server):
    """Anchor the decisions at the ledger, which this server runs during the call."""
    with override_settings(ROOT_URLCONF="ledger.urls", CHAIN_URL=live_server.url):
        call_command("anchor_decisions", once=True, stdout=StringIO())


@pytest.fixture
def morning(settings, transactional_db, tmp_path):
    """Applications that wait for a reviewer."""
    settings.BACKOFFICE_SECOND_FACTOR = True
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "ledger.example/log", SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    now = timezone.now()
    staff_of("Reviewer", username="rita")
    staff_of("Support", username="sam")
    staff_of("Operations", username="omar")
    offer = OfferFactory(name="Harbour loan", apr_min_percent=9.9, apr_max_percent=14.9, term_options_months=[24, 36])
    person = UserFactory(username="jane", email="jane@example.test")
    data = {"amount_cents": 700_000, "term_months": 24, "purpose": "<b>roof</b>"}
    for days in (26, 12, 3, 2, 1):
        make(
            consumer=person,
            offer_id=offer.pk,
            offer_version=1,
            offer_snapshot=offer.terms(),
            application_data=data,
            submitted_at=now - timedelta(days=days),
        )
    keys.create_api_key(owner=person, name="shop", scopes=None, now=now)


@pytest.fixture
def papers(morning):
    """An image and a PDF, uploaded for the application that has waited longest."""
    application = Application.objects.earliest("submitted_at")
    request_documents(application, ["Passport", "Payslip"], by=application.consumer, now=timezone.now())
    passport, payslip = application.requested_documents.all()
    api = client_of(application.consumer)
    assert send_file(api, application, PNG, "passport.png", document=passport).status_code == 201
    assert send_file(api, application, PDF, "payslip.pdf", document=payslip).status_code == 201


def test_a_reviewer_decides_waiting_applications(morning, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    visit.log_in("rita", looking=True)
    visit.look("landing")

    visit.go("text=Applications to review")
    visit.look("queue")
    page.go_back()
    # Take the oldest, read it, ask for a document, next: three clicks, and two page loads.
    visit.go("text=Take the oldest")
    assert "26 days of 30" in page.inner_text(".case-bar")
    assert "$7,000.00" in page.inner_text(".case-bar")
    assert "In figures" in page.inner_text("#content-main")
    oldest = page.url
    visit.look("oldest")
    page.click(".case-actions >> text=Request documents")
    wait_until(lambda: page.evaluate("document.activeElement.id") == "id_documents")
    visit.look("ask-for-documents")
    page.keyboard.type("Payslip of September\nPayslip of October")
    page.keyboard.press("Tab")
    page.keyboard.type("Please send these two.")
    visit.go("text=Request, and open the next case")
    assert "is now pending documents" in page.inner_text(".messagelist")
    assert "12 days of 30" in page.inner_text(".case-bar")
    visit.look("next")

    page.goto(oldest)
    visit.go("text=Received >> nth=0")
    assert "is received" in page.inner_text(".messagelist")
    page.fill("#note-text", "Both came by post.")
    visit.go("text=Add the note")
    visit.look("note")
    page.locator("h1").click()
    page.keyboard.press("?")
    assert "List" in page.inner_text("dialog")
    page.keyboard.press("Escape")

    with page.expect_navigation():
        page.keyboard.press("n")
    assert "12 days of 30" in page.inner_text("#content-main")
    assert "rita, since" in page.inner_text(".record-side")
    visit.go(".case-actions >> text=Approve")
    wait_until(lambda: page.evaluate("document.activeElement.id") == "id_amount")
    page.fill("#id_reason", "Income is enough")
    visit.look("approve")
    visit.go("input[type=submit].default")
    assert "is now approved" in page.inner_text(".messagelist")
    assert "Income is enough" in page.inner_text(".timeline")
    visit.look("approved")
    anchor_decisions(live_server)
    page.reload()
    assert "Decision 1 anchored in the ledger" in page.inner_text(".timeline")
    visit.look("anchored")
    visit.go("text=All records")
    visit.go("text=Decision anchors")
    visit.look("anchors")

    page.goto("/admin/credit/application/?queue=review")
    page.check("#action-toggle")
    page.select_option("select[name=action]", "move_to_rejected")
    visit.go("text=Go")
    visit.look("bulk-preview")
    page.select_option("#id_code_1", "income_insufficient")
    visit.go("input[type=submit]")
    assert "Done: 3 of 3." in page.inner_text("#content-main")
    visit.look("bulk-result")
    assert Application.objects.filter(status="rejected").count() == 3
    assert ApplicationHistory.objects.count() == 5

    page.goto("/admin/credit/application/?queue=decided")
    with page.expect_download() as download:
        page.click("text=Export as CSV")
    assert Path(download.value.path()).read_text().count("\n") == 5
    assert DataAccess.objects.filter(action="export").count() == 1
    page.goto("/admin/credit/application/?q=nobody")
    visit.look("nothing-found")


def test_a_reviewer_opens_uploaded_files(papers, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    visit.log_in("rita")
    visit.go("text=Applications to review")
    visit.go("#result_list tbody tr:first-child th a")
    visit.look("handed-in")
    with page.context.expect_page() as opened:
        page.click("text=View passport.png")
    opened.value.wait_for_load_state()
    shown = opened.value.locator("img")
    assert shown.count() == 1
    assert shown.evaluate("image => image.naturalWidth") == 1
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
    visit.look("asked-again")


def test_other_back_office_pages_fit_and_pass_axe_for_each_role(morning, chromium, live_server):
    support = Visit(chromium, live_server, viewport={"width": 1280, "height": 800})
    support.log_in("sam")
    for name, path in (
        ("landing", "/admin/"),
        ("users", "/admin/identity/user/"),
        ("events", "/admin/webhooks/event/"),
    ):
        support.page.goto(path)
        support.look(f"support-{name}")
    support.page.goto("/admin/credit/application/")
    support.go("#result_list tbody tr:first-child th a")
    assert "Personal data is masked." in support.page.inner_text("#content-main")
    support.look("support-application")
    support.go("text=Show personal data")
    support.look("support-unmask")

    operations = Visit(chromium, live_server, viewport={"width": 1280, "height": 800})
    operations.log_in("omar")
    operations.page.goto("/admin/identity/apikey/")
    operations.look("keys")
    operations.go("#result_list tbody tr:first-child th a")
    operations.go("text=Rotate")
    operations.look("rotate")
    operations.go("input[type=submit]")
    assert "can collect the new key" in operations.page.inner_text(".messagelist")
    operations.look("rotated")
    operations.page.goto("/admin/backoffice/dataaccess/")
    operations.look("data accesses")


CUT = "[...document.querySelectorAll('.results')].some(frame => frame.scrollWidth > frame.clientWidth)"
HIDDEN_CELLS = """[...document.querySelectorAll('#result_list tbody tr:first-child > *')].filter(cell => {
    const box = cell.getBoundingClientRect();
    return box.width < 1 || box.left < 0 || box.right > document.documentElement.clientWidth;
}).map(cell => cell.className)"""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["lists", "records"])
def test_every_list_and_record_of_the_demo_opens(morning, chromium, live_server, whole):
    """What a superuser can open from the landing page: each list, with all its columns.

    The nightly form also checks each list with axe, the form that adds a record, and the first record.
    """
    call_command("seed_demo", stdout=StringIO())
    admins = get_user_model().objects.filter(is_superuser=True)
    admins.update(password=make_password(PASSWORD))
    person = UserFactory(username="a-very-long-user-name." * 5, email=f"{'x' * 60}@example.test")
    make(consumer=person, offer_id=OfferFactory(name="A loan with a name that does not end " * 3).pk)
    version_of(model_of())
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    visit.log_in(admins.get().username)
    visit.look("landing")
    visit.go("text=All records")
    lists = page.eval_on_selector_all("#content-main th[scope=row] a", "links => links.map(link => link.href)")
    assert len(lists) >= 25
    for address in lists:
        name = "-".join(address.rstrip("/").split("/")[-2:])
        page.goto(address)
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert not page.evaluate(CUT), (name, width)
            assert page.evaluate(HIDDEN_CELLS) == [], (name, width)
            assert fits(page), (name, width)
        if not whole:
            assert visit.complaints == [], name
            continue
        page.set_viewport_size({"width": 1440, "height": 900})
        visit.look(name)
        add = page.locator(".object-tools a.addlink")
        if add.count():
            page.goto(add.get_attribute("href"))
            visit.look(f"{name}-add")
            page.goto(address)
        first = page.locator("#result_list tbody tr:first-child th a")
        if first.count():
            visit.go("#result_list tbody tr:first-child th a")
            visit.look(f"{name}-record")


def test_pages_of_a_review_fit_1280_and_1024_pixels(morning, chromium, live_server):
    """The queue has one line per row at 1280 pixels, terms follow a changed amount, and Escape closes a menu."""
    visit = Visit(chromium, live_server, viewport={"width": 1280, "height": 800})
    page = visit.page
    visit.log_in("rita")
    visit.go("text=Applications to review")
    assert not page.evaluate(CUT)
    assert (
        page.locator("#result_list td.field-amount").first.evaluate("cell => getComputedStyle(cell).textAlign") == "end"
    )
    assert page.locator("nav.main-links a[aria-current]").inner_text() == "Applications"
    visit.look("queue-widths", 1280, 1024)
    visit.go("#result_list tbody tr:first-child th a")
    page.click("summary:has-text('More')")
    assert page.locator(".menu-panel >> text=Withdraw").first.is_visible()
    visit.look("case-widths", 1280, 1024)
    page.keyboard.press("Escape")
    assert not page.locator(".menu-panel >> text=Withdraw").first.is_visible()
    visit.go(".case-actions >> text=Approve")
    before = page.inner_text("#terms")
    page.fill("#id_amount", "5,000")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.press("#id_amount", "Tab")
    wait_until(lambda: page.inner_text("#terms") != before)
    assert "$5,000.00 at 9.9 % for 24 months" in page.inner_text("#terms")
    visit.look("decision-widths", 1280, 1024)
    page.fill("#id_rate_percent", "3")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.press("#id_rate_percent", "Tab")
    page.wait_for_selector("[data-figure=rate_percent] .errorlist")
    assert "The rates of the offer begin at 9.9." in page.inner_text("[data-figure=rate_percent]")
    page.fill("#id_rate_percent", "10")
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.press("#id_rate_percent", "Tab")
    page.wait_for_selector("#terms table")
    visit.go("input[type=submit].default")
    assert "is now approved" in page.inner_text(".messagelist")


def test_a_truncated_list_shows_a_notice_and_its_first_column(morning, chromium, live_server):
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
    named = page.locator("#result_list tbody tr:first-child th").bounding_box()
    assert named["x"] >= page.locator(".results").bounding_box()["x"]


def test_the_back_office_works_on_a_phone_and_without_javascript(morning, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 390, "height": 844}, java_script_enabled=False)
    visit.log_in("rita")
    visit.page.goto("/admin/credit/application/?queue=review")
    visit.go("#result_list tbody tr:first-child th a")
    visit.go("text=Approve")
    visit.go("input[type=submit].default")
    assert "is now approved" in visit.page.inner_text(".messagelist")


def test_back_office_pages_fit_a_phone(morning, chromium, live_server):
    visit = Visit(chromium, live_server, viewport={"width": 390, "height": 844})
    visit.log_in("rita")
    visit.look("phone-landing")
    visit.page.goto("/admin/credit/application/?queue=review")
    visit.look("phone-queue")
    visit.go("#result_list tbody tr:first-child th a")
    visit.look("phone-application")
    visit.go("text=Reject")
    visit.look("phone-reject")
