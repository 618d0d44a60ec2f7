"""Read the back office's pages in tests."""

import re
from html import unescape

from django.contrib.messages import get_messages

LINK = re.compile(r"""<a\s[^>]*?\bhref=["']([^"']+)["']""")
HIDDEN = re.compile(r'<input type="hidden" name="seen" value="([^"]*)"')


def links_of(response):
    """Return the URLs that a page links to."""
    return [unescape(address) for address in LINK.findall(response.content.decode())]


def text_of(response):
    """Return a page's text without its markup, in one line."""
    body = response.content.decode().partition("<main")[2] or response.content.decode()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?bdi>", "", body))).split())


def messages_of(response):
    """Return the messages of a redirect in one line, without the page that would show them."""
    return unescape(re.sub(r"<[^>]+>", " ", " ".join(map(str, get_messages(response.wsgi_request)))))


def seen_value(response):
    """Return the `seen` value that binds a confirmation page to the record's state."""
    return unescape(HIDDEN.search(response.content.decode())[1])


def send_form(client, address, *, follow=False, **fields):
    """Open a confirmation page and send its form; return the response, which is a redirect after a success."""
    page = client.get(address)
    assert page.status_code == 200, (address, page.status_code, page.headers.get("Location"))
    sent = {"seen": seen_value(page), "terms_seen": (page.context or {}).get("terms_seen", ""), **fields}
    shown = client.post(address, sent, follow=follow)
    # The form has changed terms.
    if shown.context and shown.context.get("unseen") and not shown.context["form"].errors:
        return client.post(address, {**sent, "terms_seen": shown.context["terms_seen"]}, follow=follow)
    return shown


def confirm(client, address, **fields):
    """Open a confirmation page and send its form; return the page after redirects."""
    return send_form(client, address, follow=True, **fields)
