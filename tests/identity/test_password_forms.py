"""Test that forms with passwords and codes label each field and the account for password managers."""

from html.parser import HTMLParser

import pytest
from django.test import Client

from tests.factories import PASSWORD
from tests.identity.test_account_pages import EMAIL, jane, link_in, log_in, mailed  # noqa: F401  jane is a fixture
from tests.identity.test_invitations import token_of
from tests.identity.test_managed_accounts import create_account, partner, shop  # noqa: F401  fixtures
from tests.second_factors import authenticator_of

pytestmark = pytest.mark.django_db


class Inputs(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page.content.decode())

    def handle_starttag(self, tag, attrs):
        if tag == "input":
            self.found.append(dict(attrs))

    def named(self, name):
        return next(item for item in self.found if item.get("name") == name)


def tokens_of(page):
    """Return the `autocomplete` of each field for a password, in order."""
    assert page.status_code == 200
    return [item.get("autocomplete") for item in Inputs(page).found if item.get("type") == "password"]


def test_log_in_forms_label_the_account_and_the_password():
    page = Client().get("/account/login")
    assert tokens_of(page) == ["current-password"]
    assert Inputs(page).named("login")["autocomplete"] == "username"
    page = Client().get("/account/signup")
    assert set(tokens_of(page)) == {"new-password"}
    assert Inputs(page).named("email")["autocomplete"] == "email"


def test_the_claim_form_labels_the_user_name_and_a_new_password(shop):  # noqa: F811
    create_account(shop, email=EMAIL)
    page = Client().get(f"/account/claim/{token_of('claim')}")
    assert tokens_of(page) == ["new-password", "new-password"]
    assert Inputs(page).named("username")["autocomplete"] == "username"


def test_password_forms_contain_the_user_name_for_password_managers(jane):  # noqa: F811
    browser, _ = log_in(EMAIL)
    again = browser.post("/account/email", {"email": "new@example.org"}, follow=True)
    assert tokens_of(again) == ["current-password"]
    change = browser.get("/account/password", follow=True)
    assert tokens_of(change) == ["current-password", "new-password", "new-password"]
    Client().post("/account/password/forgot", {"email": EMAIL})
    reset = Client().get(link_in(mailed()[0]), follow=True)
    assert tokens_of(reset) == ["new-password", "new-password"]
    for page in (again, change, reset):
        name = Inputs(page).named("username")
        assert (name["autocomplete"], name["value"]) == ("username", EMAIL)


def test_a_form_for_a_code_has_autocomplete_one_time_code(jane):  # noqa: F811
    authenticator_of(jane)
    page = Client().post("/account/login", {"login": EMAIL, "password": PASSWORD}, follow=True)
    assert Inputs(page).named("code")["autocomplete"] == "one-time-code"
