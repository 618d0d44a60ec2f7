"""The documentation and the API reference in a real browser, at several widths, in light and dark."""

import re

import pytest

from tests.docs.conftest import built  # noqa: F401  a fixture
from tests.system.browsing import (
    check_at_widths,
    collect_errors,
    fits,
    open_page,
    serious_findings,
    settle,
    store_screenshot,
)
from tests.system.docs.test_blocks_run import demo  # noqa: F401  a fixture

WIDTHS = (1280, 768, 360)
BACKGROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 29, 26)"}
# Only two combinations of scheme and width, because Swagger UI needs several seconds.
LOOKS = pytest.mark.parametrize(("scheme", "width"), [("light", WIDTHS[0]), ("dark", WIDTHS[-1])])
VIEWS = {
    "front": "/docs/",
    "guide": "/docs/guides/scores.html",
    "settings": "/docs/operate/settings.html",
    "tabs": "/docs/guides/verify-webhooks.html",
    "search": "/docs/search.html?q=rotate+key",
    "error": "/docs/errors/E1001.html",
    "errors": "/docs/reference/errors.html",
    "root": "/",
}


@pytest.mark.parametrize("name", VIEWS)
def test_every_documentation_page_fits_the_screen_and_passes_axe_in_light_and_dark_mode(
    built, chromium, live_server, name
):
    page = open_page(chromium, live_server.url + VIEWS[name])
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.reload()
    settle(page)
    assert page.complaints == []
    check_at_widths(page, f"docs-{name}", WIDTHS, whole=False)
    if name != "root":  # the policy of `/` rejects the styles that axe adds
        assert page.complaints == []
    assert [url for url in requested if not url.startswith((live_server.url, "data:"))] == []


def test_documentation_pages_open_and_fit_a_phone_without_javascript(built, chromium, live_server):
    page = open_page(
        chromium, f"{live_server.url}/docs", java_script_enabled=False, viewport={"width": 360, "height": 740}
    )
    page.locator("article a[href*='tutorial']").first.click()
    assert page.locator("h1").count() == 1
    assert fits(page)


QUERIES = {
    "guides/retry-safely": ["retry", "idempotency", "idempotent", "which operations are idempotent"],
    "guides/pagination": ["paginate", "page events", "event feed"],
    "guides/verify-webhooks": ["verify a webhook signature", "verify webhook node"],
    "guides/sandbox": ["test cards"],
    "reference/statuses": ["pending_documents"],
    "reference/scopes": ["who may approve"],
    "operate/keys": ["rotate a key", "rotate encryption key"],
    "guides/accounts": ["rotate an API key"],
    "guides/oauth": ["oauth consent", "act on behalf of a user"],
    "reference/events": ["events"],
    "errors/E1020": ["E1020", "error E1020"],
    "guides/ledger-and-proofs": ["inclusion proof"],
    "operate/audit": ["audit log"],
    "quickstart": ["quickstart"],
    "guides/rate-limits": ["rate limits"],
    "operate/privacy": ["erase", "export my data"],
    "operate/upgrading": ["upgrade"],
    "operate/disaster": ["backup"],
}


def test_documentation_search_returns_the_expected_page_first_or_second(built, chromium, live_server):
    page, missed = open_page(chromium, f"{live_server.url}/docs/"), {}
    for page_name, queries in QUERIES.items():
        for query in queries:
            page.fill("input[name=q]", query)
            with page.expect_navigation():
                page.press("input[name=q]", "Enter")
            page.wait_for_selector("#search-results .search-summary:has-text('found')")
            first = page.locator("#search-results li a").evaluate_all(
                "links => links.slice(0, 2).map(link => link.href)"
            )
            if not [address for address in first if f"/docs/{page_name}.html" in address]:
                missed[query] = first
    assert missed == {}
    assert page.complaints == []


def test_the_copy_button_of_a_code_block_copies_its_text(built, chromium, live_server):
    window = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = window.new_page()
    page.complaints = collect_errors(page)
    page.goto(f"{live_server.url}/docs/guides/quotes.html")
    page.wait_for_selector(".copybtn", state="attached")
    assert page.locator(".copybtn").count() == page.locator("article pre").count() > 0
    first = page.locator("div.highlight").first
    first.hover()
    first.locator(".copybtn").click()
    page.wait_for_selector(".copybtn.success")
    assert page.evaluate("navigator.clipboard.readText()").strip() == first.locator("pre").text_content().strip()
    assert page.complaints == []


REFERENCE = {"overview": "/v1/docs", "search": "/v1/docs?q=quote", "section": "/v1/docs/api-keys"}


def background_of(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("name", REFERENCE)
def test_platform_api_reference_fits_the_screen_and_passes_axe_in_light_and_dark_mode(chromium, live_server, name):
    page = open_page(chromium, live_server.url + REFERENCE[name])
    assert page.locator("h1").count() == 1
    assert page.complaints == []  # checked before axe adds styles, which the policy rejects
    check_at_widths(page, f"reference-{name}", (1440, 768, 375), whole=False)


@pytest.mark.urls("ledger.urls")
def test_ledger_api_reference_fits_the_screen_and_passes_axe(chromium, live_server):
    page = open_page(chromium, live_server.url)
    page.click("text=Every operation")
    page.click(".calls a:has-text('/anchor') >> nth=0")
    assert page.complaints == []
    check_at_widths(page, "ledger-reference", (1440, 375), whole=False)


def test_the_largest_reference_section_fits_a_phone_without_javascript(chromium, live_server):
    window = {"width": 375, "height": 740}
    page = open_page(
        chromium, f"{live_server.url}/v1/docs/applications#applications_create", java_script_enabled=False,
        viewport=window,
    )  # fmt: skip
    assert fits(page)
    operation = page.locator("#applications_create")
    assert "curl -X POST" in operation.inner_text()
    operation.locator("summary:text-is('Error')").click()
    for block in operation.locator("pre:visible").all():
        assert block.evaluate("element => element.scrollWidth <= element.clientWidth"), "a line is truncated"


def test_api_operation_opens_from_search_and_from_links_to_the_former_reference(chromium, live_server):
    page = open_page(chromium, f"{live_server.url}/v1/docs#tag/applications/operation/applications_proof")
    page.wait_for_url("**/v1/docs/applications#applications_proof")
    page.fill("[role=search] input", "quote")
    page.press("[role=search] input", "Enter")
    page.click(".calls a >> nth=0")
    assert page.url.endswith("/v1/docs/provider-offers#offers_quote")
    page.click("#offers_quote >> text=Try this operation")
    assert "/v1/docs/try#/provider-offers/offers_quote" in page.url


def test_choosing_a_code_sample_language_applies_to_all_samples_and_pages(chromium, live_server):
    page = open_page(chromium, f"{live_server.url}/v1/docs/kyc")
    page.locator("details.entry > summary").first.click()
    page.locator("summary:text-is('Python')").first.click()
    opened = "samples => samples.map(sample => sample.dataset.language)"
    assert set(page.locator("details[data-language][open]").evaluate_all(opened)) == {"Python"}
    page.goto(f"{live_server.url}/v1/docs/staging")
    assert set(page.locator("details[data-language][open]").evaluate_all(opened)) == {"Python"}


OWN_KEY = "ck_test_of-my-own"
AUTHORIZED = ".auth-wrapper .authorize.locked"


def key_in_use(page):
    """Execute GET /auth/me in Swagger UI; return the API key in the displayed curl command."""
    operation = page.locator("#operations-identity-auth_me")
    page.click("#operations-tag-identity")
    operation.locator(".opblock-summary-control").click()
    operation.locator(".try-out__btn").click()
    operation.locator(".execute").click()
    page.wait_for_selector("#operations-identity-auth_me .curl-command")
    return re.search(r"X-API-Key: (\S+?)'", operation.locator(".curl-command").inner_text())[1]


def test_try_page_filter_finds_operations_by_section_path_and_summary(demo, chromium, live_server):
    page = open_page(chromium, f"{live_server.url}/v1/docs/try")
    page.wait_for_selector(AUTHORIZED)
    sections = page.locator(".opblock-tag")
    for text, found in (("BANK DATA", ["bankdata"]), ("get /v1/auth/me", ["identity"]), ("no such operation", [])):
        page.get_by_label("Filter the operations").fill(text)
        page.wait_for_function(f"document.querySelectorAll('.opblock-tag').length === {len(found)}")
        assert sections.evaluate_all("tags => tags.map(tag => tag.dataset.tag)") == found


@LOOKS
def test_the_swagger_ui_page_passes_axe(demo, chromium, live_server, scheme, width):
    page = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    page.complaints = collect_errors(page)
    page.goto(f"{live_server.url}/v1/docs/try")
    page.wait_for_selector(AUTHORIZED)
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    assert background_of(page) == BACKGROUNDS[scheme]
    store_screenshot(page, f"docs-try-{scheme}-{width}", whole=False)
    assert serious_findings(page) == []
    page.click("#operations-tag-applications")
    page.locator("#operations-applications-applications_create .opblock-summary-control").click()
    list_operation = page.locator("#operations-applications-applications_list")
    list_operation.locator(".opblock-summary-control").click()
    list_operation.locator(".try-out__btn").click()
    list_operation.locator(".execute").click()
    page.wait_for_selector(".live-responses-table")
    settle(page)
    store_screenshot(page, f"docs-try-open-{scheme}-{width}")
    assert fits(page)
    assert serious_findings(page) == []
    page.click(".auth-wrapper .authorize")
    page.wait_for_selector(".auth-container")
    settle(page)
    store_screenshot(page, f"docs-try-log-in-{scheme}-{width}", whole=False)
    assert serious_findings(page) == []
    assert page.complaints == []


def test_swagger_ui_sends_the_demo_key_or_the_key_of_the_user(demo, chromium, live_server):
    page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{live_server.url}/v1/docs")
    page.click("text=Try the operations")
    page.wait_for_selector(AUTHORIZED)
    assert key_in_use(page) == demo["KEY"]
    page.wait_for_selector("#operations-identity-auth_me .live-responses-table:has-text('\"demo\"')")
    assert demo["KEY"] not in page.evaluate("JSON.stringify(localStorage)")
    page.click(".auth-wrapper .authorize")
    page.locator(".auth-container:has-text('apiKey') button:text-is('Logout')").click()
    page.fill(".auth-container:has-text('apiKey') input", OWN_KEY)
    page.locator(".auth-container:has-text('apiKey') button:text-is('Authorize')").click()
    page.click(".auth-btn-wrapper .btn-done")
    page.goto(f"{live_server.url}/v1/docs/try")
    page.wait_for_selector(AUTHORIZED)
    assert key_in_use(page) == OWN_KEY
