"""The page in a real browser: a dropped file is hashed there, and the path recomputed."""

import pytest

from tests.browsing import fits, open_page
from tests.ledger.conftest import seal_reports

pytestmark = pytest.mark.urls("ledger.urls")


@pytest.fixture
def anchored(committed_log, tmp_path):
    """A report among others, and its file."""
    seal_reports([f"report {number}" for number in range(300)])
    file = tmp_path / "report.json"
    file.write_text("report 123")
    return file


@pytest.fixture
def browser(anchored, live_server, chromium):
    """Chromium before a log with something in it."""
    return chromium


def test_a_chosen_file_is_hashed_in_the_browser_and_its_path_recomputed(browser, anchored, live_server):
    page = open_page(browser, live_server.url)
    sent = []
    page.on("request", lambda request: sent.append((request.method, request.post_data)))
    page.set_input_files("#file", str(anchored))
    page.wait_for_selector("#checked:not(:empty)")
    assert "leads from this hash to the signed root" in page.inner_text("#checked")
    assert page.locator(".tick.done").count() == page.locator(".pair").count() > 0
    assert {method for method, _ in sent} == {"GET"}
    assert all(body is None for _, body in sent)
    assert page.complaints == []


def test_a_page_that_lies_is_caught_by_its_own_script(browser, anchored, live_server):
    page = open_page(browser, live_server.url)

    def lie(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('data-side="left"', 'data-side="right"', 1))

    page.route("**/?hash=*", lie)
    page.set_input_files("#file", str(anchored))
    page.wait_for_selector("#checked.wrong")
    assert "Do not trust this page" in page.inner_text("#checked")


def test_a_look_up_works_without_javascript_on_a_phone(browser, anchored, live_server):
    page = open_page(browser, live_server.url, java_script_enabled=False, viewport={"width": 360, "height": 740})
    assert not page.is_visible("#drop")
    page.fill("#hash", "ab" * 32)
    page.click("button")
    assert "Not anchored here" in page.inner_text("#result")
    assert fits(page)
