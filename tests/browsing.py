"""Looking at pages in a real browser: what goes wrong on them is noted, and pictures are kept where a person asks.

Set SCREENSHOTS to a folder to keep the pictures.
"""

import os
from pathlib import Path

GIVEN_UP = "net::ERR_ABORTED"
LOUD = ("error", "warning")


def noted(page):
    """Return a list in which everything that goes wrong on a page from now on will stand."""
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in LOUD else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    # A browser that is led to another page gives up what it was still loading for this one, such as its icon.
    page.on("requestfailed", lambda one: None if one.failure == GIVEN_UP else complaints.append(one.url))
    return complaints


def open_page(browser, address, **options):
    """Open an address in a window of its own; `page.complaints` holds what goes wrong there."""
    page = browser.new_context(**options).new_page()
    page.complaints = noted(page)
    page.goto(address)
    return page


def fits(page):
    """Say whether a page is no wider than its window."""
    return page.locator("html").evaluate("one => one.scrollWidth <= one.clientWidth")


def settle(page):
    """Let what fades be faded: a new scheme of colours changes them little by little."""
    page.evaluate("document.getAnimations().forEach(fading => fading.finish())")


def keep_picture(page, name, *, whole=True):
    """Keep a picture of a page, or of the part in the window, for a person to look at."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=whole)
