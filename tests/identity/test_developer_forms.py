"""Test the forms of the developer pages: when they are open, and how they show errors."""

import re

import pytest

from config.webhooks.models import Endpoint
from identity.models import ApiKey, OAuthClient
from tests.identity.oauth_support import REDIRECT
from tests.identity.test_developers import KEY, URL, browser, press_button, read_page  # noqa: F401

pytestmark = pytest.mark.django_db
CLIENT = {"name": "Budget app", "redirect_uris": REDIRECT, "scopes": ["offers:read"]}
WEBHOOK = {"url": URL, "reach": "all", "description": "Mine"}
CREATE = {"/keys": ("make", KEY), "/clients": ("make", CLIENT), "/webhooks": ("add", WEBHOOK)}
INVALID = {
    "/keys": [
        ({"name": "", "expires_days": "0", "scopes": []}, ["name", "expires_days", "scopes"]),
        ({"reach": "all"}, ["scopes"]),
    ],
    "/clients": [({"name": "", "redirect_uris": "", "scopes": []}, ["name", "redirect_uris", "scopes"])],
    "/webhooks": [
        ({"url": "x", "reach": "some", "description": "x" * 1001}, ["event_types", "description"]),
        ({"url": "x"}, ["url"]),
    ],
}
OPEN, CLOSED = '<details class="create" open>', '<details class="create">'


def targets_of(page):
    """Return the targets of the links in the error summary. Each must be the id of an element of the page."""
    summary = re.search(r'<div class="message wrong" role="alert" tabindex="-1" autofocus>(.*?)</div>', page)[1]
    targets = re.findall(r'href="#([^"]+)"', summary)
    for target in targets:
        element = re.search(rf'<(?:input|textarea|select|fieldset)[^>]* id="{re.escape(target)}"[^>]*>', page)[0]
        assert f'aria-invalid="true" aria-describedby="{target}-error"' in element
        assert page.count(f'id="{target}"') == page.count(f'id="{target}-error"') == 1
    return targets


@pytest.mark.parametrize("path", CREATE)
def test_developer_create_form_is_expanded_for_an_empty_list_or_an_invalid_field(browser, path):  # noqa: F811
    assert OPEN in read_page(browser, path)
    do, fields = CREATE[path]
    press_button(browser, path, do, **fields)
    page = read_page(browser, path)
    assert CLOSED in page
    assert page.index(CLOSED) < page.index("<table")
    for changes, targets in INVALID[path]:
        page = press_button(browser, path, do, 400, **{**fields, **changes})
        assert OPEN in page
        assert sorted(targets_of(page)) == sorted(targets)
        assert "<title>Error: " in page


def test_key_rotation_form_with_an_error_is_expanded_in_the_row_of_its_key(browser):  # noqa: F811
    for name in ("first", "second"):
        press_button(browser, "/keys", "make", **{**KEY, "name": name})
    key = ApiKey.objects.get(name="first")
    page = press_button(browser, "/keys", "rotate", 400, key_id=key.pk, grace_days="400")
    assert targets_of(page) == [f"grace_days-{key.pk}"]
    assert page.count("<details open>") == 1
    assert 'value="400"' in page
    assert CLOSED in page


def test_oauth_client_form_with_an_error_is_expanded_and_retains_its_values(browser):  # noqa: F811
    page = press_button(browser, "/clients", "make", 400, **{**CLIENT, "redirect_uris": "ftp://x"})
    assert 'value="Budget app"' in page
    assert "ftp://x</textarea>" in page
    assert 'value="offers:read" checked' in page
    press_button(browser, "/clients", "make", **CLIENT)
    path = f"/clients/{OAuthClient.objects.get().client_id}"
    page = press_button(browser, path, "change", 400, **{**CLIENT, "name": "Typed", "redirect_uris": "ftp://x"})
    assert targets_of(page) == ["redirect_uris"]
    assert 'value="Typed"' in page
    assert "ftp://x</textarea>" in page
    press_button(browser, "/webhooks", "add", **WEBHOOK)
    path = f"/webhooks/{Endpoint.objects.get().pk}"
    page = press_button(browser, path, "change", 400, **{**WEBHOOK, "url": "typed"})
    assert targets_of(page) == ["url"]
    assert 'value="typed"' in page
    assert '<details class="create change" open>' in page
    assert targets_of(press_button(browser, path, "rotate", 400, grace_hours="169")) == ["grace_hours"]


def test_developer_form_error_without_a_field_is_shown_in_the_error_summary(browser):  # noqa: F811
    page = press_button(browser, "/keys", "revoke", 404, key_id="none")
    assert targets_of(page) == []
    assert re.search(r'role="alert" tabindex="-1" autofocus> <p>[^<]+ <a href="/docs/errors/E40', page)
