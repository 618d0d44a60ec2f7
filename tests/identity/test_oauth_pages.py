"""Test the pages of `/oauth/authorize` and `/oauth/grants`."""

import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.utils import timezone, translation
from django.utils.html import escape
from oauth2_provider.models import Grant

from identity.access.authentication import forget_credentials
from identity.access.scopes import BINDING, SCOPES
from identity.models import AccountHistory, Consent, TokenFamily
from tests.api import ApiClient
from tests.factories import PASSWORD, UserFactory
from tests.identity.oauth_support import (
    CHALLENGE,
    REDIRECT,
    answer,
    boxes_of,
    browser_of,
    code_for,
    exchange,
    make_client,
    open_consent_page,
    redirected_with,
)
from tests.second_factors import authenticator_of


@pytest.fixture
def registered(db):
    return make_client()


@pytest.fixture
def browser(user):
    return browser_of(user)


def test_oauth_authorization_redirects_to_the_log_in_and_back(user, registered):
    browser = Client()
    page = open_consent_page(browser, registered[0])
    assert page.status_code == 302
    assert page.headers["Location"].startswith("/account/login?next=")
    login = browser.post(page.headers["Location"], {"login": user.username, "password": PASSWORD})
    assert login.status_code == 302
    assert b"requests to act on your behalf" in open_consent_page(browser, registered[0]).content


def test_consent_page_describes_the_client_and_each_scope_in_plain_words(browser, user, registered):
    type(user).objects.filter(pk=user.pk).update(email="jane@example.org")
    page = open_consent_page(browser, registered[0], scope="offers:read identity:read")
    text = page.content.decode()
    for words in ("Budget app", "jane@example.org", "See offers", "See your identity checks", "app.example"):
        assert words in text
    assert "<code>" not in text
    assert user.username not in text
    assert "form-action 'self' https://app.example" in page.headers["Content-Security-Policy"]
    assert page.headers["Cache-Control"] == "no-store"
    assert not Grant.objects.exists()


def test_consent_page_lists_the_actions_that_the_app_cannot_take(browser, db):
    client, _ = make_client(name="<script>alert(1)</script>", scopes=list(SCOPES))
    for asked, cannot, can in (
        ("identity:read", "your bank accounts", "your identity checks"),
        ("bankdata:read", "checks of your identity", "their balances"),
        ("applications:write", "decide any application", "Apply for credit in your name"),
    ):
        page = open_consent_page(browser, client, scope=asked)
        assert b"<script>alert" not in page.content
        may, never = permissions_of(page_text(page))
        assert can in may
        assert cannot in never
        assert "change your password" in never


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("es", ("pide permiso para actuar por usted", "Ver las ofertas", "contraseña", "Permitir", "Rechazar")),
        ("de", ("möchte für Sie handeln", "Angebote", "Passwort", "Erlauben", "Ablehnen")),
    ],
)
def test_the_consent_page_is_in_the_browsers_language(browser, db, language, words):
    client, _ = make_client(name="Presto", scopes=["offers:read"])
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    text = page_text(open_consent_page(browser, client, scope="offers:read"))
    assert [part for part in words if part not in text] == []
    for english in ("act on your behalf", "The app", "Allow", "Deny", "password"):
        assert english not in text


def page_text(page):
    return " ".join(re.sub(r"<[^>]+>", "", page.content.decode()).split())


def permissions_of(text):
    """Return the texts of the page without the list of refused actions, and this list."""
    before, _, rest = text.partition("The app can't:")
    never, _, after = rest.partition("After that, you continue at:")
    return before + after, never


def test_consent_page_highlights_the_permission_to_accept_a_loan_above_the_buttons(browser, db):
    client, _ = make_client(name="Curious app", scopes=list(SCOPES))
    page = open_consent_page(browser, client, scope=" ".join(SCOPES)).content.decode()
    box = page.partition('<fieldset class="permissions binding">')[2].partition("</fieldset>")[0]
    assert "the app can accept a loan that you must repay" in box
    assert re.findall(r'value="([^"]+)" checked', box) == ["applications:write"]
    assert page.index("After that, you continue at:") < page.index(box) < page.index('name="allow"')
    page = open_consent_page(browser, client, scope="offers:read").content.decode()
    assert "that you must repay" not in page
    page = open_consent_page(browser, client, scope="applications:write")
    assert boxes_of(page) == ["applications:write"]
    assert "form-action 'self' https://app.example" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize("language", ["en", "es", "de"])
def test_other_permissions_of_the_consent_page_have_at_most_ten_words(language):
    with translation.override(language):
        texts = [translation.gettext(text) for scope, text in SCOPES.items() if scope not in BINDING]
    assert [text for text in texts if len(text.split()) > 10] == []


def test_every_scope_has_a_distinct_description(browser, db):
    client, _ = make_client(name="Curious app", scopes=list(SCOPES))
    text = page_text(open_consent_page(browser, client, scope=" ".join(SCOPES)))
    assert len(set(SCOPES.values())) == len(SCOPES)
    for words in SCOPES.values():
        assert escape(words) in text


def test_scopes_that_the_user_deselects_are_not_granted(user, browser, registered):
    page = open_consent_page(browser, registered[0], scope="offers:read identity:read")
    assert boxes_of(page) == ["offers:read", "identity:read"]
    code = redirected_with(answer(browser, page, granted=["identity:read"]))["code"]
    body = exchange(code, *registered).json()
    assert body["scope"] == "identity:read"
    assert ApiClient(bearer=body["access_token"]).read("/provider-offers?provider_id=1").json()["code"] == "E2005"
    assert ApiClient(bearer=body["access_token"]).read("/auth/me").json()["scopes"] == ["identity:read"]


@pytest.mark.parametrize("ticked", [["offers:read", "identity:read"], ["identity:read"]])
def test_a_scope_that_was_not_requested_cannot_be_granted(browser, registered, ticked):
    said = redirected_with(
        answer(browser, open_consent_page(browser, registered[0], scope="offers:read"), granted=ticked)
    )
    if "offers:read" in ticked:
        assert Grant.objects.get().scope == "offers:read"
    else:
        assert said["error"] == "access_denied"


def test_authorization_request_without_a_scope_uses_the_default_scope(browser, db):
    for registered_for, default in (
        (["bankdata:read", "identity:read", "webhooks"], "identity:read"),
        (["bankdata:read", "applications:write"], "bankdata:read"), (["offers:write", "offers:read"], "offers:read"),
    ):  # fmt: skip
        client, _ = make_client(name=default, scopes=registered_for)
        assert boxes_of(open_consent_page(browser, client, scope=None)) == [default]
    client, _ = make_client(name="Quiet app", scopes=["applications:write", "webhooks"])
    assert redirected_with(open_consent_page(browser, client, scope=None))["error"] == "invalid_scope"


def test_oauth_consent_redirects_with_a_code_and_a_denial_with_access_denied(browser, registered, settings):
    issuer = {"state": "st4te", "iss": settings.HOST_ROOT}
    for how in ({"allow": False}, {"granted": []}):
        said = redirected_with(answer(browser, open_consent_page(browser, registered[0]), **how))
        assert said["error"] == "access_denied"
        assert said.items() >= issuer.items()
        assert not Grant.objects.exists()
    said = redirected_with(answer(browser, open_consent_page(browser, registered[0])))
    assert said == {"code": Grant.objects.get().code, **issuer}


def test_every_oauth_error_redirect_contains_the_issuer_once(browser, registered, settings):
    for changes, error in (
        ({"scope": "admin"}, "invalid_scope"), ({"scope": ""}, "invalid_scope"),
        ({"scope": "wallet:read"}, "invalid_scope"), ({"scope": "offers:read wallet:read"}, "invalid_scope"),
        ({"response_type": None}, "invalid_request"), ({"response_type": "token"}, "unauthorized_client"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unauthorized_client"),
        ({"response_type": "nonsense"}, "unsupported_response_type"),
        ({"code_challenge": "p" * 50, "code_challenge_method": "S512"}, "invalid_request"),
        ({"code_challenge": "p" * 129, "code_challenge_method": "S256"}, "invalid_request"),
    ):  # fmt: skip
        response = open_consent_page(browser, registered[0], **changes)
        query = parse_qs(urlsplit(response.headers["Location"]).query)
        assert (query["error"], query["iss"], query["state"]) == ([error], [settings.HOST_ROOT], ["st4te"]), changes
    said = redirected_with(open_consent_page(Client(), registered[0], prompt="none"))
    assert (said["error"], said["iss"]) == ("login_required", settings.HOST_ROOT)
    page = open_consent_page(browser, registered[0], code_challenge="p" * 50, code_challenge_method="plain")
    assert redirected_with(answer(browser, page))["error"] == "invalid_request"
    assert not Grant.objects.exists()


def test_authorization_request_with_an_unregistered_client_or_redirect_uri_is_not_redirected(browser, registered):
    for changes in ({"client_id": "nobody"}, {"client_id": "a\0"}, *({"redirect_uri": redirect} for redirect in (
        "https://evil.example/callback", "https://app.example/callback/more", "https://app.example:444/callback",
        "https://app.example/callback?x=1", "https://app.example.evil.example/callback",
        "https://app.example@evil.example/callback", "https://APP.example/callback",
        "http://app.example/callback", "javascript:alert(1)",
    ))):  # fmt: skip
        page = open_consent_page(browser, registered[0], **changes)
        assert (page.status_code, "Location" in page.headers) == (400, False), changes
        assert b"Nothing was shared" in page.content


def test_consent_for_a_deleted_client_is_not_redirected(browser, registered):
    page = open_consent_page(browser, registered[0])
    registered[0].delete()
    refused = answer(browser, page)
    assert (refused.status_code, "Location" in refused.headers) == (400, False)
    assert b"no longer known" in refused.content


def test_a_native_app_can_use_any_loopback_port(browser, db):
    fields = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    for host in ("127.0.0.1", "[::1]", "localhost"):
        client, _ = make_client(name=host, public=True, redirect=f"http://{host}/done")
        page = open_consent_page(browser, client, redirect_uri=f"http://{host}:49152/done", **fields)
        assert page.status_code == 200, page.content
        other = open_consent_page(browser, client, redirect_uri=f"http://{host}:49152/other", **fields)
        assert other.status_code == 400


def test_the_query_of_a_registered_redirect_uri_is_returned_byte_for_byte(browser, db):
    for query in ("x=%E9&flag", "a=b%20c&a=1&iss=mine", "flag"):
        client, _ = make_client(name=query, redirect=f"{REDIRECT}?{query}")
        for allow in (True, False):
            page = open_consent_page(browser, client, redirect_uri=f"{REDIRECT}?{query}")
            location = answer(browser, page, allow=allow).headers["Location"]
            assert location.startswith(f"{REDIRECT}?{query}&{'code=' if allow else 'error='}"), location
            assert "state=st4te" in location


def test_a_public_client_without_pkce_is_rejected(browser, db):
    client, _ = make_client(name="Phone app", public=True)
    assert redirected_with(open_consent_page(browser, client))["error"] == "invalid_request"


def test_authorization_parameters_cannot_skip_the_consent_page(browser, registered):
    for parameter in ({"prompt": "none"}, {"approval_prompt": "auto"}, {"prompt": "create"}):
        page = open_consent_page(browser, registered[0], **parameter)
        assert page.status_code == 200
        assert b"requests to act on your behalf" in page.content


def test_a_consent_form_from_another_site_is_rejected(browser, registered):
    page = open_consent_page(browser, registered[0])
    browser.cookies.clear()
    assert answer(browser, page).status_code == 403
    assert not Grant.objects.exists()


def revoke_access(browser, page, client):
    fields = {"client_id": client.client_id, "csrfmiddlewaretoken": str(page.context["csrf_token"])}
    return browser.post("/oauth/grants", fields)


def test_user_can_view_and_revoke_oauth_grants(user, browser, registered):
    body = exchange(code_for(user, registered[0]), *registered).json()
    page = browser.get("/oauth/grants")
    assert b"Budget app" in page.content
    assert revoke_access(browser, page, registered[0]).status_code == 302
    page = browser.get("/oauth/grants").content
    assert b"The app can no longer act on your behalf." in page
    assert b"You have not authorized any apps" in page
    forget_credentials()
    assert ApiClient(bearer=body["access_token"]).read("/auth/me").status_code == 401
    revoke_access(browser, browser.get("/oauth/grants"), registered[0])
    (entry,) = AccountHistory.objects.filter(action="consent.ended")
    assert (entry.account, entry.object_id, entry.credential) == (user, str(Consent.objects.get().pk), "session")


def test_oauth_grant_of_another_account_cannot_be_revoked(user, registered):
    exchange(code_for(user, registered[0]), *registered)
    stranger = browser_of(UserFactory())
    page = stranger.get("/oauth/grants")
    assert b"Budget app" not in page.content
    revoke_access(stranger, page, registered[0])
    invalid = {"client_id": "a\0", "csrfmiddlewaretoken": str(page.context["csrf_token"])}
    assert stranger.post("/oauth/grants", invalid).status_code == 404
    assert stranger.get("/account/logout").status_code == 200, "the button of this page logs out"
    assert stranger.get("/oauth/grants").status_code == 200
    assert b"Budget app" in browser_of(user).get("/oauth/grants").content


def test_oauth_consent_requires_the_second_factor_of_the_account(user):
    client, _secret = make_client()
    authenticator_of(user)
    response = open_consent_page(browser_of(user), client)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/account/second-factor/confirm?next=/oauth/authorize")
    assert not Grant.objects.exists()


@pytest.mark.parametrize("has_factor", [False, True])
def test_tokens_of_an_app_record_whether_consent_had_a_second_factor(user, has_factor):
    client, secret = make_client()
    code = code_for(user, client)
    factor = authenticator_of(user)
    added = timezone.now() + (-1 if has_factor else 1) * timedelta(minutes=1)
    Authenticator.objects.filter(pk=factor.pk).update(created_at=added)
    assert exchange(code, client, secret).status_code == 200
    assert TokenFamily.objects.get(client=client).second_factor is has_factor


def test_error_page_of_an_authorization_request_is_in_the_language_of_the_page(user):
    browser = Client()
    browser.force_login(user)
    for language, words in (
        ("en", "Invalid client_id parameter value."),
        ("es", "El valor del parámetro client_id no"),
    ):
        page = browser.get("/oauth/authorize?client_id=x&response_type=code", headers={"Accept-Language": language})
        assert page.status_code == 400
        assert words in page.content.decode()
