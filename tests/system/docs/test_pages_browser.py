"""The documentation in a real browser, at each width, in light and dark."""

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
GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 29, 26)"}
# Swagger UI takes a browser seconds, so each scheme and each of the outer widths runs only once.
LOOKS = pytest.mark.parametrize(("scheme", "width"), [("light", WIDTHS[0]), ("dark", WIDTHS[-1])])
SHOWN = {
    "front": "/docs/",
    "guide": "/docs/guides/scores.html",
    "settings": "/docs/operate/settings.html",
    "tabs": "/docs/guides/verify-webhooks.html",
    "search": "/docs/search.html?q=rotate+key",
    "error": "/docs/errors/E1001.html",
    "errors": "/docs/reference/errors.html",
    "root": "/",
}


@pytest.mark.parametrize("name", SHOWN)
def test_every_view_fits_and_passes_axe_in_light_and_dark(built, chromium, live_server, name):
    page = open_page(chromium, live_server.url + SHOWN[name])
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.reload()
    settle(page)
    assert page.complaints == []
    check_at_widths(page, f"docs-{name}", WIDTHS, whole=False)
    if name != "root":  # its policy rejects the styles that axe adds
        assert page.complaints == []
    assert [url for url in requested if not url.startswith((live_server.url, "data:"))] == []


def test_pages_are_read_without_javascript_on_a_phone(built, chromium, live_server):
    page = open_page(
        chromium, f"{live_server.url}/docs", java_script_enabled=False, viewport={"width": 360, "height": 740}
    )
    page.click("article a:has-text('the tutorial')")
    assert page.locator("h1").count() == 1
    assert fits(page)


@pytest.mark.parametrize(
    ("query", "page_name"),
    [
        ("retry", "guides/retry-safely"),
        ("idempotency", "guides/retry-safely"),
        ("idempotent", "guides/retry-safely"),
        ("paginate", "guides/pagination"),
        ("verify a webhook signature", "guides/verify-webhooks"),
        ("verify webhook node", "guides/verify-webhooks"),
        ("test cards", "guides/sandbox"),
        ("pending_documents", "reference/statuses"),
        ("who may approve", "reference/scopes"),
        ("rotate a key", "operate/keys"),
        ("rotate encryption key", "operate/keys"),
        ("events", "reference/events"),
        ("event feed", "guides/webhooks"),
        ("E1020", "errors/E1020"),
        ("error E1020", "errors/E1020"),
        ("act on behalf of a user", "guides/oauth"),
        ("inclusion proof", "guides/ledger-and-proofs"),
        ("what a proof proves", "trust/verify"),
        ("audit log", "operate/audit"),
        ("quickstart", "quickstart"),
        ("rate limits", "guides/rate-limits"),
        ("erase", "operate/privacy"),
        ("export my data", "operate/privacy"),
        ("upgrade", "operate/upgrading"),
        ("backup", "operate/disaster"),
    ],
)
def test_documentation_search_returns_the_page_first_or_second(built, chromium, live_server, query, page_name):
    page = open_page(chromium, f"{live_server.url}/docs/")
    page.fill("input[name=q]", query)
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    page.wait_for_selector("#search-results .search-summary:has-text('found')")
    first = page.locator("#search-results li a").evaluate_all("all => all.slice(0, 2).map(one => one.href)")
    assert [address for address in first if f"/docs/{page_name}.html" in address], first
    assert page.complaints == []


def test_a_block_of_code_is_copied_by_its_button(built, chromium, live_server):
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


def ground(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_fits_and_passes_axe_in_light_and_dark(chromium, live_server, name):
    page = open_page(chromium, live_server.url + REFERENCE[name])
    assert page.locator("h1").count() == 1
    assert page.complaints == []  # later, the policy rejects the styles that axe adds
    check_at_widths(page, f"reference-{name}", (1440, 768, 375), whole=False)


@pytest.mark.urls("ledger.urls")
def test_the_ledgers_reference_fits_and_passes_axe(chromium, live_server):
    page = open_page(chromium, live_server.url)
    page.click("text=Every operation")
    page.click(".calls a:has-text('/anchor') >> nth=0")
    assert page.complaints == []
    check_at_widths(page, "ledger-reference", (1440, 375), whole=False)


def test_the_largest_section_is_read_without_javascript_on_a_phone(chromium, live_server):
    window = {"width": 375, "height": 740}
    page = open_page(
        chromium, f"{live_server.url}/v1/docs/applications#applications_create", java_script_enabled=False,
        viewport=window,
    )  # fmt: skip
    assert fits(page)
    operation = page.locator(".operation:has(#applications_create)")
    assert "curl -X POST" in operation.inner_text()
    operation.locator("summary:text-is('Error')").click()
    for block in operation.locator("pre:visible").all():
        assert block.evaluate("one => one.scrollWidth <= one.clientWidth"), "a line is cut"


def test_operations_are_found_by_search_and_by_links_of_the_former_page(chromium, live_server):
    page = open_page(chromium, f"{live_server.url}/v1/docs#tag/applications/operation/applications_proof")
    page.wait_for_url("**/v1/docs/applications#applications_proof")
    page.fill("[role=search] input", "quote")
    page.press("[role=search] input", "Enter")
    page.click(".calls a >> nth=0")
    assert page.url.endswith("/v1/docs/provider-offers#offers_quote")
    page.click(".operation:has(#offers_quote) >> text=Try this operation")
    assert "/v1/docs/try#/provider-offers/offers_quote" in page.url


def test_all_samples_follow_the_language_that_is_opened(chromium, live_server):
    page = open_page(chromium, f"{live_server.url}/v1/docs/kyc")
    page.locator("summary:text-is('Python')").first.click()
    opened = "all => all.map(one => one.dataset.language)"
    assert set(page.locator("details[data-language][open]").evaluate_all(opened)) == {"Python"}
    page.goto(f"{live_server.url}/v1/docs/staging")
    assert set(page.locator("details[data-language][open]").evaluate_all(opened)) == {"Python"}


OWN_KEY = "ck_test_of-my-own"
AUTHORIZED = ".auth-wrapper .authorize.locked"


def show_only(*paths):
    """Respond with a document of only these paths: Swagger UI needs 10 s for all of them."""

    def answer(route):
        response = route.fetch()
        document = response.json()
        document["paths"] = {path: document["paths"][path] for path in paths}
        route.fulfill(response=response, json=document)

    return answer


def known_key(page):
    """Return the API key that Swagger UI will send, as shown in its command."""
    operation = page.locator("#operations-identity-auth_me")
    page.click("#operations-tag-identity")
    operation.locator(".opblock-summary-control").click()
    operation.locator(".try-out__btn").click()
    operation.locator(".execute").click()
    page.wait_for_selector("#operations-identity-auth_me .curl-command")
    return re.search(r"X-API-Key: (\S+?)'", operation.locator(".curl-command").inner_text())[1]


# One operation for each method: axe checks the same elements on all others.
EACH_METHOD = ("/v1/applications", "/v1/webhooks/endpoints/{endpoint_id}", "/v1/provider-offers/{offer_id}")


@LOOKS
def test_the_page_to_try_operations_passes_axe(demo, chromium, live_server, scheme, width):
    page = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    page.complaints = collect_errors(page)
    page.route("**/openapi.json", show_only(*EACH_METHOD))
    page.goto(f"{live_server.url}/v1/docs/try")
    page.wait_for_selector(AUTHORIZED)
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    assert ground(page) == GROUNDS[scheme]
    store_screenshot(page, f"docs-try-{scheme}-{width}", whole=False)
    assert serious_findings(page) == []
    page.click("#operations-tag-applications")
    page.locator("#operations-applications-applications_create .opblock-summary-control").click()
    reading = page.locator("#operations-applications-applications_list")
    reading.locator(".opblock-summary-control").click()
    reading.locator(".try-out__btn").click()
    reading.locator(".execute").click()
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


def test_operations_are_tried_with_the_demos_key_or_another_key(demo, chromium, live_server):
    page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{live_server.url}/v1/docs")
    page.route("**/openapi.json", show_only("/v1/auth/me"))
    page.click("text=Try the operations")
    page.wait_for_selector(AUTHORIZED)
    assert known_key(page) == demo["KEY"]
    page.wait_for_selector("#operations-identity-auth_me .live-responses-table:has-text('\"demo\"')")
    assert demo["KEY"] not in page.evaluate("JSON.stringify(localStorage)")
    page.click(".auth-wrapper .authorize")
    page.locator(".auth-container:has-text('apiKey') button:text-is('Logout')").click()
    page.fill(".auth-container:has-text('apiKey') input", OWN_KEY)
    page.locator(".auth-container:has-text('apiKey') button:text-is('Authorize')").click()
    page.click(".auth-btn-wrapper .btn-done")
    page.goto(f"{live_server.url}/v1/docs/try")
    page.wait_for_selector(AUTHORIZED)
    assert known_key(page) == OWN_KEY
