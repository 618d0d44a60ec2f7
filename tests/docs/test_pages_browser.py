"""The documentation in a real browser: three pages, a search and an error, on each width, in light and dark."""

from pathlib import Path

import pytest

from tests.browsing import fits, keep_picture, open_page

AXE = Path(__file__).parents[1] / "backoffice" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
NOTHING_WRONG = {"minor", "moderate"}
WIDTHS = (1440, 1024, 390)
SHOWN = {
    "front": "/docs",
    "guide": "/docs/guides/scores",
    "settings": "/docs/operate/settings",
    "search": "/docs/search?q=rotate+key",
    "nothing-found": "/docs/search?q=xyzzyplugh",
    "error": "/docs/errors/E1001",
    "errors": "/docs/errors",
    "root": "/",
}


@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_fits_and_passes_axe_in_light_and_dark(chromium, live_server, width):
    for name, path in SHOWN.items():
        page = open_page(chromium, live_server.url + path, viewport={"width": width, "height": 900})
        assert fits(page), (name, width)
        assert page.complaints == [], name
        if AXE.exists():
            page.evaluate(f"{AXE.read_text()}; null")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            keep_picture(page, f"docs-{name}-{scheme}-{width}", whole=False)
            if AXE.exists():
                found = page.evaluate("axe.run().then(result => result.violations)")
                serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] not in NOTHING_WRONG]
                assert serious == [], (name, scheme, width)


def test_it_is_read_and_searched_without_javascript_on_a_phone(chromium, live_server):
    page = open_page(
        chromium, f"{live_server.url}/docs", java_script_enabled=False, viewport={"width": 360, "height": 740}
    )
    page.fill("#q", "idempotency key")
    page.click(".search button")
    page.click(".found a >> nth=0")
    assert page.locator("h1").count() == 1
    page.click("text=All pages")
    page.click(".pages a:text-is('Quotes')")
    assert page.inner_text("h1") == "Quotes"
    assert fits(page)


@pytest.mark.parametrize("path", ["/docs/operate/keys#encryption-keys"])
def test_an_anchor_is_not_hidden_below_the_head(chromium, live_server, path):
    page = open_page(chromium, live_server.url + path, viewport={"width": 1440, "height": 500})
    head = page.locator(".top").bounding_box()
    assert page.locator("#encryption-keys").bounding_box()["y"] >= head["y"] + head["height"]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_reference_shows_every_operation_and_passes_axe(chromium, live_server, width):
    page = chromium.new_context(viewport={"width": width, "height": 900}).new_page()
    asked = []
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.goto(f"{live_server.url}/v1/docs")
    page.wait_for_selector("h1:has-text('API')")
    document = page.request.get(f"{live_server.url}/v1/openapi.json").json()
    shown = set(page.locator("[id^='operation/']").evaluate_all("all => all.map(one => one.id.split('/')[1])"))
    places = [*document["paths"].values(), *document["webhooks"].values()]
    ids = {operation["operationId"] for place in places for operation in place.values()}
    assert shown == ids
    assert all(url.startswith((live_server.url, "blob:", "data:")) for url in asked), asked
    assert fits(page)
    keep_picture(page, f"docs-reference-{width}", whole=False)
    if AXE.exists() and width != WIDTHS[1]:  # axe takes long here, and the layout has no third form
        page.evaluate(f"{AXE.read_text()}; null")
        found = page.evaluate("axe.run().then(result => result.violations)")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] not in NOTHING_WRONG] == []
    if width == WIDTHS[0]:
        page.fill("[role=search] input", "quote")
        page.wait_for_selector("[data-role='search:results'] li")


def test_operations_can_be_tried(chromium, live_server):
    page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{live_server.url}/v1/docs")
    page.click("text=Try the operations")
    page.wait_for_selector(".opblock")
