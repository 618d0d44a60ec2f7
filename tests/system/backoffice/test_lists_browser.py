"""Back office lists in a real browser: visible rows, and filters."""

import pytest

from tests.backoffice.conftest import staff_of
from tests.system.backoffice.test_browser import Visit, waiting_applications  # noqa: F401  a fixture

FIRST_ROW_PIXELS_MAX = 300
LISTS = (
    "credit/application", "credit/applicant", "credit/offer", "credit/provider", "identity/user", "identity/apikey",
    "backoffice/dataaccess", "admin/logentry", "webhooks/event",
)  # fmt: skip
WIDTHS = (375, 768, 1440)


@pytest.fixture
def visit(waiting_applications, live_server, chromium):
    staff_of("Reviewer", username="mia", is_superuser=True)
    created = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    created.log_in("mia")
    return created


def top_of_rows(page):
    row = page.locator("#result_list tbody tr").first
    return row.bounding_box()["y"] if row.count() else None


def test_the_first_row_of_every_back_office_list_is_near_the_top(visit):
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
