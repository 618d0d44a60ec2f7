"""Check pages in a real browser: record errors, run axe-core, and store screenshots.

To store screenshots, set SCREENSHOTS to a folder.
"""

import os
from pathlib import Path

from tests.second_factors import code_of

ABORTED = "net::ERR_ABORTED"
RECORDED_TYPES = ("error", "warning")
SCHEMES = ("light", "dark")
AXE = Path(__file__).parent / "axe" / "node_modules" / "axe-core" / "axe.min.js"
_ACCEPTED = {"minor", "moderate"}


def collect_errors(page):
    """Return a list to which every later error of the page is added."""
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in RECORDED_TYPES else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    # On a redirect, a browser cancels pending requests of the first page, such as the icon.
    page.on("requestfailed", lambda item: None if item.failure == ABORTED else complaints.append(item.url))
    return complaints


def open_page(browser, address, **options):
    """Open an address in a new window; `page.complaints` lists its errors."""
    page = browser.new_context(**options).new_page()
    page.complaints = collect_errors(page)
    page.goto(address)
    return page


def fits(page):
    """Return whether a page is no wider than its window."""
    return page.locator("html").evaluate("element => element.scrollWidth <= element.clientWidth")


def settle(page):
    """Finish animations, because a new color scheme fades in."""
    page.evaluate("document.getAnimations().forEach(fading => fading.finish())")


def store_screenshot(page, name, *, whole=True):
    """Store a screenshot of a page, or without `whole` of its visible part."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=whole)


def serious_findings(page, *, contrast_only=False):
    """Return axe-core's serious findings as (rule, element), or an empty list if axe-core is not installed."""
    if not AXE.exists():
        return []
    # The driver evaluates the script, because the page's content security policy rejects it.
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(f"{AXE.read_text()}; null")
    rules = "{runOnly: ['color-contrast']}" if contrast_only else ""
    evaluation = page.evaluate(f"axe.run({rules}).then(result => result.violations)")
    return [(item["id"], item["nodes"][0]["html"]) for item in evaluation if item["impact"] not in _ACCEPTED]


def add_app(page, password, check=lambda _name: None):
    """Add an authenticator app, starting at the page of second factors; return the app's secret.

    Calls `check` with the name of each page.
    """

    def go(selector, name):
        with page.expect_navigation():
            page.click(selector)
        check(name)

    check("second-factor-none")
    go("a:has-text('Add an authenticator app')", "again")
    page.fill("[name=password]", password)
    go("button.primary", "add-app")
    secret = page.inner_text("main code").replace(" ", "")  # The page shows the secret in groups of letters.
    page.fill("[name=code]", code_of(secret))
    go("button.primary", "recovery-codes")
    go("a:has-text('I have them')", "after-recovery-codes")
    return secret


def check_at_widths(page, name, widths, *, whole=True, axe=True):
    """Check that a page fits windows of these widths, and passes axe in the first and the last.

    The window has the last width afterwards.
    """
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert fits(page), (name, width)
        if (axe and width in (widths[0], widths[-1])) or os.environ.get("SCREENSHOTS"):
            check_in_both_schemes(page, name, whole=whole)


def check_in_both_schemes(page, name, *, whole=True):
    """Check a page with axe, and store a screenshot, in each color scheme. In dark, check only color contrast."""
    width = page.viewport_size["width"]
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        settle(page)
        store_screenshot(page, f"{name}-{scheme}-{width}", whole=whole)
        assert serious_findings(page, contrast_only=scheme == "dark") == [], (name, scheme, width)
