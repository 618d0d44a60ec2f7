"""Test that browsers get HTML error pages, and that programs and API callers get JSON."""

import re
from datetime import timedelta

import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from config.core.errors import NotFound, Unavailable
from credit.core.applicants import Applicants
from identity.accounts.error_pages import write_for_browser
from tests.credit.applicants import PERSON
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PATHS = ("/nothing", "/my/applications/x", "/my/apply/9", "/account/x", "/developers/x", "/verification/x", "/oauth/x")


def text_of(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


@pytest.fixture
def browser(user):
    browser = Client()
    browser.force_login(user)
    return browser


def test_unknown_url_returns_an_html_page_with_links(browser):
    for path in PATHS:
        answer = browser.get(path, headers=BROWSER)
        assert answer.status_code == 404
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert int(answer.headers["Content-Length"]) == len(answer.content)
        assert "Accept" in answer.headers["Vary"]
        assert "Page not found" in text_of(answer)
        assert answer.headers["X-Request-ID"] in text_of(answer)
        assert 'href="/account/"' in answer.content.decode()
        assert "{" not in text_of(answer)
        assert ('<a href="/my">My applications</a>' in answer.content.decode()) is path.startswith("/my/"), path


def test_url_that_differs_by_a_slash_redirects_a_browser_to_the_page(browser):
    for typed, page in (
        ("/my/", "/my"), ("/account", "/account/"), ("/developers/?x=%20", "/developers?x=%20"),
        ("/my/apply/", "/my/apply"),
    ):  # fmt: skip
        answer = browser.get(typed, headers=BROWSER)
        assert (answer.status_code, answer.headers["Location"]) == (302, page)
        assert browser.get(typed).status_code == 404
        assert browser.post(typed, headers=BROWSER).status_code == 404
    for unknown in ("/my//", "/nowhere/", "/v1/health/"):
        assert browser.get(unknown, headers=BROWSER).status_code == 404


def test_unknown_url_returns_a_json_error_to_programs_and_api_callers(browser):
    for path in ("/v1/nothing", "/v1", "/v1/applications/x"):
        answer = browser.get(path, headers=BROWSER)
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.json()["code"]
    for accepted in (
        "", "*/*", "application/json", "application/problem+json", "application/json, text/html;q=0",
        "text/html;q=0, */*", "text/html;q=0.5, application/json", "text/htmlx, */*",
    ):  # fmt: skip
        for path in PATHS:
            answer = browser.get(path, headers={"Accept": accepted})
            assert answer.status_code == 404, path
            assert answer.json()["code"] or answer.json()["type"], path


def test_an_error_page_is_in_the_browsers_or_the_users_language(browser, user):
    def title(path, language):
        headers = {**BROWSER, "Accept-Language": language}
        page = browser.get(path, headers=headers).content.decode()
        return re.search(r'lang="(\w+)"', page)[1], re.search("<h1>(.*?)</h1>", page)[1]

    assert title("/nothing", "es-MX") == ("es", "Página no encontrada")
    assert title("/nothing", "fr") == ("en", "Page not found")
    ApplicationFactory(consumer=user, applicants=Applicants.of([PERSON]), created_at=timezone.now() - timedelta(days=1))
    assert title("/my/applications/x", "en") == ("es", "Página no encontrada")


@pytest.mark.django_db(databases=[])
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This request can&#x27;t be answered"), (403, "You can&#x27;t open this page"),
        (410, "This page is no longer available"), (429, "Too many requests"), (500, "Something went wrong"),
        (503, "Temporarily unavailable"),
    ],
)  # fmt: skip
def test_each_error_status_has_a_page_without_session_or_database(status, words):
    request = RequestFactory().get("/my", headers=BROWSER)
    response = (Unavailable if status == 503 else NotFound)().response()
    response.status_code = status
    write_for_browser(request, response)
    assert response.status_code == status
    assert words in text_of(response)
    assert int(response.headers["Content-Length"]) == len(response.content)


def test_a_forbidden_page_returns_html(browser):
    answer = browser.get("/admin/credit/application/", headers=BROWSER)
    assert answer.status_code in {302, 403}
    assert answer.headers["Content-Type"].startswith("text/html")


def test_expired_form_page_is_in_the_browsers_language(user):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    answer = browser.post("/my/consent", headers={**BROWSER, "Accept-Language": "es"})
    assert answer.status_code == 403
    assert "Este formulario caducó" in text_of(answer)
    assert "Log in" not in text_of(answer)


def test_header_and_footer_link_visitors_to_the_log_in_and_accounts_to_their_data(browser):
    for path, log_in in (("/", "/account/login"), ("/my/apply?x=1", "/account/login?next=/my/apply%3Fx%3D1")):
        page = Client().get(path, headers=BROWSER).content.decode()
        assert f'<a href="{log_in}">Log in</a></nav>' in page
        assert '<a class="brand" href="/">' in page
        assert 'name="language" value="es"' in page
        footer = re.search("<footer.*</footer>", page, re.S)[0]
        assert re.findall('href="([^"]+)"', footer) == ["/#help", "/my/apply"]
    assert "</nav>\n    <form" not in Client().get("/account/login").content.decode()
    for path in ("/", "/my", "/account/", "/oauth/grants"):
        page = browser.get(path, headers=BROWSER).content.decode()
        assert "Log in</a>" not in page
        assert '<a href="/account/privacy">Privacy and my data</a></nav>' in page
        assert '<a href="/my">My applications</a> <a href="/account/">My account</a></nav>' in page
    assert "<footer" not in browser.get("/developers", headers=BROWSER).content.decode()
    assert "Log in</a>" not in browser.get("/nothing", headers=BROWSER).content.decode()


def test_start_page_has_the_language_of_the_account_or_of_the_browser(browser, user):
    for language, title in (("en", "Apply for a loan"), ("es", "Solicitar un préstamo"), ("de", "Kredit beantragen")):
        page = Client().get("/", headers={**BROWSER, "Accept-Language": language}).content.decode()
        assert f'<html lang="{language}">' in page
        assert f"<h1>{title}</h1>" in page
    user.language = "es"
    user.save()
    assert '<html lang="es">' in browser.get("/", headers=BROWSER).content.decode()


def test_error_page_of_an_offer_links_to_the_list_of_offers(browser):
    page = browser.get("/my/apply/999", headers=BROWSER).content.decode()
    assert '<ul class="ways"><li><a href="/my/apply">Compare offers</a></li><li><a href="/my">' in page


def test_page_about_too_many_tries_has_a_title_that_states_the_cause(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_address": 0}
    answer = Client().post("/account/password/forgot", {"email": "jane@example.org"})
    assert answer.status_code == 429
    assert "<h1>Too many tries</h1>" in answer.content.decode()


def test_footer_links_the_operators_privacy_policy_and_terms_only_if_they_are_set(browser, settings):
    for page in ("/", "/my/apply", "/my", "/account/", "/my/missing"):
        assert "Privacy policy" not in browser.get(page, headers=BROWSER).content.decode()
    assert "describes how your data are used" not in Client().get("/account/signup").content.decode()
    settings.PRIVACY_POLICY_URL, settings.TERMS_URL = "https://www.example/privacy", "https://www.example/terms?a&b"
    for page in ("/", "/my/apply", "/my", "/account/", "/my/missing"):
        footer = re.search("<footer.*</footer>", browser.get(page, headers=BROWSER).content.decode(), re.S)[0]
        assert '<a href="https://www.example/privacy">Privacy policy</a>' in footer
        assert '<a href="https://www.example/terms?a&amp;b">Terms of use</a>' in footer
    assert (
        "The privacy policy of Credit Platform describes how your data are used. Read the terms of use . Sign up"
        in text_of(Client().get("/account/signup"))
    )
    spanish = text_of(Client().get("/account/signup", headers={"Accept-Language": "es"}))
    assert "política de privacidad de Credit Platform describe cómo se usan sus datos." in spanish
