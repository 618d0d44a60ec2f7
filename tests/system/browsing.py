"""Check pages in a real browser: errors are recorded, axe-core runs, and screenshots are stored.

Set SCREENSHOTS to a folder to store the screenshots.
"""

import os
from pathlib import Path

from tests.second_factors import code_of

GIVEN_UP = "net::ERR_ABORTED"
LOUD = ("error", "warning")
SCHEMES = ("light", "dark")
AXE = Path(__file__).parent / "axe" / "node_modules" / "axe-core" / "axe.min.js"
_BEARABLE = {"minor", "moderate"}


def noted(page):
    """Return a list that collects every later error of a page."""
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in LOUD else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    # A browser that is redirected cancels pending requests of the first page, such as its icon.
    page.on("requestfailed", lambda item: None if item.failure == GIVEN_UP else complaints.append(item.url))
    return complaints


def open_page(browser, address, **options):
    """Open an address in a new window; `page.complaints` lists its errors."""
    page = browser.new_context(**options).new_page()
    page.complaints = noted(page)
    page.goto(address)
    return page


def fits(page):
    """Return whether a page is no wider than its window."""
    return page.locator("html").evaluate("one => one.scrollWidth <= one.clientWidth")


def settle(page):
    """Finish animations, because a new color scheme fades in."""
    page.evaluate("document.getAnimations().forEach(fading => fading.finish())")


def keep_picture(page, name, *, whole=True):
    """Store a screenshot of a page, or of its visible part."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=whole)


def serious(page, *, contrast_only=False):
    """Return the serious findings of axe-core on a page as (rule, element); empty if axe-core is not installed."""
    if not AXE.exists():
        return []
    # Evaluated by the driver: the page's policy rejects the script.
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(f"{AXE.read_text()}; null")
    rules = "{runOnly: ['color-contrast']}" if contrast_only else ""
    evaluation = page.evaluate(f"axe.run({rules}).then(result => result.violations)")
    return [(item["id"], item["nodes"][0]["html"]) for item in evaluation if item["impact"] not in _BEARABLE]


def add_app(page, password, look=lambda _name: None):
    """Add an authenticator app, starting at the second factor page; check each page with `look`. Return its secret."""

    def go(selector, name):
        with page.expect_navigation():
            page.click(selector)
        look(name)

    look("second-factor-none")
    go("a:has-text('Add an app')", "again")
    page.fill("[name=password]", password)
    go("button.primary", "add-app")
    secret = page.inner_text("main code")
    page.fill("[name=code]", code_of(secret))
    go("button.primary", "recovery-codes")
    go("a:has-text('I have them')", "second-factor")
    return secret


def look_at_widths(page, name, widths, *, whole=True):
    """Check a page in windows of these widths, and leave the window at the last width."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert fits(page), (name, width)
        look_in_both_schemes(page, name, whole=whole)


def look_in_both_schemes(page, name, *, whole=True):
    """Check a page with axe in light and dark, which differ only in colors; store a screenshot of each."""
    width = page.viewport_size["width"]
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        settle(page)
        keep_picture(page, f"{name}-{scheme}-{width}", whole=whole)
        assert serious(page, contrast_only=scheme == "dark") == [], (name, scheme, width)
