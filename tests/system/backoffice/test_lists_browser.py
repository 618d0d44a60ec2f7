"""Back office lists in a real browser: visible rows, and filters."""

from io import StringIO

import pytest
from django.core.management import call_command

from tests.backoffice.conftest import staff_of
from tests.backoffice.test_applications import make
from tests.credit.scoring.past import model_of, version_of
from tests.factories import OfferFactory, UserFactory
from tests.system.backoffice.test_browser import CUT, Visit, waiting_applications  # noqa: F401  a fixture
from tests.system.browsing import fits

FIRST_ROW_PIXELS_MAX = 300
LISTS = (
    "credit/application", "credit/applicant", "credit/offer", "credit/provider", "identity/user", "identity/apikey",
    "backoffice/dataaccess", "admin/logentry", "webhooks/event",
)  # fmt: skip
WIDTHS = (375, 768, 1440)
# Phones show the first columns of a list, and windows of at most 960 px have no column "submitted".
HIDDEN_CELLS = """[...document.querySelectorAll('#result_list tbody tr:first-child > *')].filter(cell => {
    if (innerWidth < 1024 && getComputedStyle(cell).display === 'none') return false;
    const box = cell.getBoundingClientRect();
    return box.width < 1 || box.left < 0 || box.right > document.documentElement.clientWidth;
}).map(cell => cell.className)"""


@pytest.fixture
def visit(waiting_applications, live_server, chromium):
    staff_of("Reviewer", username="mia", is_superuser=True)
    created = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    created.log_in("mia")
    return created


def top_of_rows(page):
    row = page.locator("#result_list tbody tr").first
    return row.bounding_box()["y"] if row.count() else None


def test_first_row_of_every_back_office_list_is_near_the_top_of_the_page(visit):
    top_by_list = {}
    for name in LISTS:
        visit.page.goto(f"/admin/{name}/")
        top_by_list[name] = top_of_rows(visit.page)
    assert top_by_list["credit/application"] is not None
    assert not {name: top for name, top in top_by_list.items() if top is not None and top > FIRST_ROW_PIXELS_MAX}
    assert sum(top is not None for top in top_by_list.values()) >= 4, top_by_list
    visit.page.goto("/admin/credit/application/?queue=review&status__exact=under_review")
    assert top_of_rows(visit.page) <= FIRST_ROW_PIXELS_MAX


def test_chosen_filter_values_of_a_back_office_list_can_be_removed(visit):
    page = visit.page
    page.goto("/admin/credit/application/")
    assert page.locator(".chosen").count() == 0
    assert not page.locator("#changelist-filter").is_visible()
    page.click(".filters > summary")
    visit.go("#changelist-filter a:has-text('To review')")
    page.click(".filters > summary")
    visit.go("#changelist-filter a:has-text('submitted') >> nth=0")
    assert page.locator(".chosen strong").all_inner_texts() == ["To review", "submitted"]
    visit.go(".chosen .chip:has-text('Queue')")
    assert page.locator(".chosen strong").all_inner_texts() == ["submitted"]
    page.fill("#searchbar", "jane")
    visit.go("#changelist-search input[type=submit]")
    assert "status" in page.url
    assert "q=jane" in page.url
    visit.go(".chosen .chip")
    assert page.locator(".chosen").count() == 0
    assert "q=jane" in page.url


def test_a_back_office_list_passes_axe_with_filters_collapsed_and_open(visit):
    visit.page.goto("/admin/credit/application/?queue=review&status__exact=submitted")
    visit.check_page("list-collapsed", *WIDTHS)
    visit.page.click(".filters > summary")
    visit.check_page("list-open", *WIDTHS)


def test_filters_of_a_back_office_list_open_without_scripts(visit, chromium, live_server):
    state = visit.page.context.storage_state()
    plain = Visit(chromium, live_server, java_script_enabled=False, storage_state=state)
    plain.page.goto("/admin/credit/application/")
    assert not plain.page.locator("#changelist-filter").is_visible()
    plain.page.click(".filters > summary")
    assert plain.page.locator("#changelist-filter").is_visible()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["lists", "records"])
def test_every_back_office_list_of_the_demo_fits_three_screen_widths(
    waiting_applications, chromium, live_server, whole
):
    """Check that each list shows all its columns.

    The nightly form also checks each list, the form that adds a record, and the first record with axe.
    """
    call_command("seed_demo", stdout=StringIO())
    applicant = UserFactory(username="a-very-long-user-name." * 5, email=f"{'x' * 60}@example.test")
    make(consumer=applicant, offer_id=OfferFactory(name="A loan with a name that does not end " * 3).pk)
    version_of(model_of())
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    visit.log_in("admin")
    visit.check_page("landing")
    visit.go("text=All records")
    lists = page.eval_on_selector_all("#content-main .lists a:not(.button)", "links => links.map(link => link.href)")
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
        visit.check_page(name)
        add = page.locator(".object-tools a.button")
        if add.count():
            page.goto(add.get_attribute("href"))
            visit.check_page(f"{name}-add")
            page.goto(address)
        first = page.locator("#result_list tbody tr:first-child th a")
        if first.count():
            visit.go("#result_list tbody tr:first-child th a")
            visit.check_page(f"{name}-record")
