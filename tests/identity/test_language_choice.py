"""Test the choice of the language on the pages of accounts and applicants."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from credit.core.applicants import Applicants
from tests.credit.applicants import PERSON
from tests.credit.notices.world import World
from tests.credit.test_my_pages import browser_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
PAGES = ("/my", "/my/apply", "/account/", "/account/password", "/oauth/grants")
PUBLIC_PAGES = ("/my/apply", "/account/login", "/account/signup")


def language_of(browser, path, **headers):
    page = browser.get(path, follow=True, headers=headers).content.decode()
    return re.search(r'<html lang="(\w+)">', page)[1]


def choose(browser, language, to="/my"):
    return browser.post(reverse("account_language"), {"language": language, "next": to})


def test_account_pages_have_a_button_for_each_language():
    browser = browser_of(UserFactory())
    for path in PAGES:
        page = browser.get(path).content.decode()
        buttons = re.findall(r'<button name="language" value="(\w+)" lang="(\w+)"( aria-current="true")?>(\w+)<', page)
        assert buttons == [
            ("en", "en", ' aria-current="true"', "English"),
            ("es", "es", "", "Español"),
            ("de", "de", "", "Deutsch"),
        ], path


def test_language_choice_is_stored_with_the_account_and_applies_in_another_browser():
    user = UserFactory()
    response = choose(browser_of(user), "es", "/my?page=1")
    assert (response.status_code, response.url) == (302, "/my?page=1")
    user.refresh_from_db()
    assert user.language == "es"
    assert [language_of(browser_of(user), path, accept_language="en") for path in PAGES] == ["es"] * len(PAGES)


def test_language_choice_without_a_log_in_is_stored_in_a_cookie():
    browser = Client()
    response = choose(browser, "es", "/my/apply")
    cookie = response.cookies["django_language"]
    assert (cookie.value, cookie["httponly"], cookie["samesite"], cookie["max-age"]) == ("es", True, "Lax", "")
    assert [language_of(browser, path, accept_language="en") for path in PUBLIC_PAGES] == ["es"] * len(PUBLIC_PAGES)


def test_language_choice_of_the_account_overrides_the_language_of_an_application():
    world = World(person={**PERSON, "language": "de"})
    world.application.applicants = Applicants.of([{**PERSON, "language": "de"}])
    browser = browser_of(world.consumer.user)
    assert language_of(browser, "/my") == "de"
    choose(browser, "es")
    assert language_of(browser, "/my") == "es"


def test_choice_of_an_unknown_language_changes_nothing():
    user = UserFactory()
    for language in ("fr", "xx", "", "../es", "e" * 600):
        choose(browser_of(user), language)
    user.refresh_from_db()
    assert user.language is None


def test_language_choice_does_not_redirect_to_another_host():
    assert choose(Client(), "es", "https://evil.example/").url == "/"


def test_language_choice_requires_a_post_request_with_a_csrf_token():
    assert Client().get(reverse("account_language")).status_code == 405
    assert Client(enforce_csrf_checks=True).post(reverse("account_language"), {"language": "es"}).status_code == 403


def test_language_choices_do_not_count_as_attempts_to_log_in(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": 2}
    assert {choose(Client(), "es").status_code for _ in range(4)} == {302}
