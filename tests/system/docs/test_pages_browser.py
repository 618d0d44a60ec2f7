"""The documentation in a real browser, at each width, in light and dark."""

import re

import pytest

from tests.docs.conftest import built  # noqa: F401  a fixture
from tests.system.browsing import fits, keep_picture, look_at_widths, noted, open_page, serious, settle
from tests.system.docs.test_blocks_run import demo  # noqa: F401  a fixture

WIDTHS = (1280, 768, 360)
GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 29, 26)"}
# A reference page takes a browser seconds, so each scheme and each of the outer widths runs only once.
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
    look_at_widths(page, f"docs-{name}", WIDTHS, whole=False)
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
    ("query", "title"),
    [
        ("rotate encryption key", "Keys"),
        ("retry", "Retry safely"),
        ("paginate", "Paginate a list"),
        ("verify webhook node", "Verify a webhook signature"),
        ("test card", "sandbox"),
        ("pending_documents", "Statuses"),
        ("who may approve", "Scopes and roles"),
        ("rotate api key", "Keys"),
        ("event feed", "Receive webhooks"),
        ("idempotent", "Retry safely"),
        ("E1020", "E1020"),
        ("act on behalf of a user", "OAuth"),
        ("what a proof proves", "What can be verified"),
        ("audit log", "audit"),
        ("quickstart", "Quickstart"),
        ("witnesses", "ledger"),
    ],
)
def test_documentation_search_finds_the_page(built, chromium, live_server, query, title):
    page = open_page(chromium, f"{live_server.url}/docs/")
    page.fill("input[name=q]", query)
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    page.wait_for_selector("#search-results .search-summary:has-text('found')")
    first = page.locator("#search-results li a").evaluate_all("all => all.slice(0, 5).map(one => one.innerText)")
    assert [text for text in first if title.lower() in text.lower()], first
    assert page.complaints == []


def test_a_block_of_code_is_copied_by_its_button(built, chromium, live_server):
    window = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = window.new_page()
    page.complaints = noted(page)
    page.goto(f"{live_server.url}/docs/guides/quotes.html")
    page.wait_for_selector(".copybtn", state="attached")
    assert page.locator(".copybtn").count() == page.locator("article pre").count() > 0
    first = page.locator("div.highlight").first
    first.hover()
    first.locator(".copybtn").click()
    page.wait_for_selector(".copybtn.success")
    assert page.evaluate("navigator.clipboard.readText()").strip() == first.locator("pre").text_content().strip()
    assert page.complaints == []


def open_reference(chromium, address, scheme, width, *, abridged=False):
    """Open a reference page in a color scheme; an abridged page has only one operation of each tag.

    `page.asked` lists its requests, `page.document` is the document that it shows.
    """
    page = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    page.asked, page.document = [], None

    def answer(route):
        response = route.fetch()
        page.document = response.json()
        if abridged:
            for part in {"paths", "webhooks"} & set(page.document):
                page.document[part] = first_of_each_tag(page.document[part])
        route.fulfill(response=response, json=page.document)

    page.route("**/openapi.json", answer)
    page.on("requestfinished", lambda request: page.asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#reference h1")
    return page


def first_of_each_tag(paths):
    """Return the first operation of each tag: axe needs long for each, and the others look the same."""
    result = {}
    for path, item in paths.items():
        for method, operation in item.items():
            result.setdefault(operation["tags"][0], (path, {method: operation}))
    return dict(result.values())


def operations_shown(page):
    places = page.locator("[id^='operation/'], [id*='/operation/']").evaluate_all("all => all.map(one => one.id)")
    return {place.rpartition("/")[2] for place in places}


def operations_of(document):
    places = [*document["paths"].values(), *document.get("webhooks", {}).values()]
    return {operation["operationId"] for place in places for operation in place.values()}


def assert_sound(page, address, scheme):
    """Run the checks for every reference page."""
    assert operations_shown(page) == operations_of(page.document)
    assert all(url.startswith((address, "blob:", "data:")) for url in page.asked), page.asked
    assert fits(page)
    assert ground(page) == GROUNDS[scheme]


def ground(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_reference_shows_every_operation(chromium, live_server):
    page = open_reference(chromium, f"{live_server.url}/v1/docs", "light", WIDTHS[1])
    assert_sound(page, live_server.url, "light")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    assert fits(page)
    keep_picture(page, "docs-reference", whole=False)
    page.fill("[role=search] input", "quote")
    page.wait_for_selector("[data-role='search:results'] li")


@LOOKS
def test_the_reference_passes_axe(chromium, live_server, scheme, width):
    page = open_reference(chromium, f"{live_server.url}/v1/docs", scheme, width, abridged=True)
    assert_sound(page, live_server.url, scheme)
    assert serious(page) == []


@pytest.mark.urls("ledger.urls")
@LOOKS
def test_ledger_has_its_own_reference(chromium, live_server, scheme, width):
    page = open_reference(chromium, f"{live_server.url}/docs", scheme, width)
    assert_sound(page, live_server.url, scheme)
    keep_picture(page, f"ledger-reference-{scheme}-{width}", whole=False)
    assert serious(page) == []


@pytest.mark.urls("ledger.urls")
def test_reference_follows_a_changed_color_scheme_and_shows_samples(chromium, live_server):
    page = open_page(chromium, live_server.url, viewport={"width": WIDTHS[0], "height": 900})
    page.click("text=Every operation")
    page.wait_for_selector("#reference h1")
    operation = page.locator("[id$='/operation/records_anchor']")
    assert "curl -X POST" in operation.inner_text()
    operation.locator("[role=tab]:text-is('Python')").click()
    assert "requests.post(" in operation.inner_text()
    operation.locator("[role=tab]:text-is('TypeScript')").click()
    assert "await fetch(" in operation.inner_text()
    with page.expect_navigation():
        page.emulate_media(color_scheme="dark")
    page.wait_for_selector("#reference h1")
    assert ground(page) == GROUNDS["dark"]


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
    page.complaints = noted(page)
    page.route("**/openapi.json", show_only(*EACH_METHOD))
    page.goto(f"{live_server.url}/v1/docs/try")
    page.wait_for_selector(AUTHORIZED)
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    assert ground(page) == GROUNDS[scheme]
    keep_picture(page, f"docs-try-{scheme}-{width}", whole=False)
    assert serious(page) == []
    page.click("#operations-tag-applications")
    page.locator("#operations-applications-applications_create .opblock-summary-control").click()
    reading = page.locator("#operations-applications-applications_list")
    reading.locator(".opblock-summary-control").click()
    reading.locator(".try-out__btn").click()
    reading.locator(".execute").click()
    page.wait_for_selector(".live-responses-table")
    settle(page)
    keep_picture(page, f"docs-try-open-{scheme}-{width}")
    assert fits(page)
    assert serious(page) == []
    page.click(".auth-wrapper .authorize")
    page.wait_for_selector(".auth-container")
    settle(page)
    keep_picture(page, f"docs-try-log-in-{scheme}-{width}", whole=False)
    assert serious(page) == []
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
