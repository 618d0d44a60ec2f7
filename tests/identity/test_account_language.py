"""The pages before the log-in are in the browser's language."""

import re

import pytest

from tests.documents import ROOT

CATALOG = (ROOT / "identity/locale/es/LC_MESSAGES/django.po").read_text()
ENGLISH = [text for text in re.findall(r'^msgid "([^%]+)"$', CATALOG, re.MULTILINE) if " " in text]
PATHS = (
    "login",
    "signup",
    "confirm",
    "confirm/none",
    "password/forgot",
    "password/forgot/sent",
    "password/new/1-none",
    "password/new/done",
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("policy", ["open", "closed"])
@pytest.mark.parametrize("path", PATHS)
def test_page_before_the_login_has_no_english_sentence_for_a_spanish_browser(client, settings, path, policy):
    settings.SIGN_UP = policy
    page = client.get(f"/account/{path}", HTTP_ACCEPT_LANGUAGE="es-MX,es;q=0.9").content.decode()
    text = re.sub(r"<[^>]+>", " ", page)
    assert '<html lang="es">' in page
    assert [sentence for sentence in ENGLISH if sentence in text] == []


def test_page_after_the_login_is_english_until_it_is_translated(client, user):
    client.force_login(user)
    page = client.get("/account/", HTTP_ACCEPT_LANGUAGE="es").content.decode()
    assert '<html lang="en">' in page


def test_every_translatable_text_of_account_pages_is_in_the_catalog():
    texts = {
        text
        for file in (ROOT / "identity/templates/account").glob("*.html")
        if file.name not in {"form_expired.html", "error.html", "typed_text.html"}
        for text in re.findall(r'{% translate "(.*?)"', file.read_text())
    }
    assert {text for text in texts if f'msgid "{text}"\n' not in CATALOG} == set()
