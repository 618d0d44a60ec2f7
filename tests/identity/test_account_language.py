"""Test that account pages and mails are completely translated, with dates in the time zone of `/my`."""

import gettext
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.models import EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.test import Client
from django.utils import timezone, translation

from config.core.lifecycle import Actor
from config.mail.delivery import message_of
from config.mail.models import OutgoingMail
from identity.access import consents as kinds
from identity.access.consents import ELECTRONIC_NOTICES, give_consent
from identity.access.scopes import SCOPES, refused_with
from identity.access.tokens import start_family
from identity.accounts.addresses import ask_to_change, confirm
from identity.accounts.exports import request_export
from identity.accounts.models import Invitation
from identity.accounts.security_mails import EVENTS
from identity.models import TokenFamily
from tests.credit.terms.lending import applied, listed
from tests.credit.test_my_content import living_in, written
from tests.documents import ROOT
from tests.factories import PASSWORD, UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.identity.test_invitations import invited, operator, token_of  # noqa: F401  a fixture
from tests.identity.test_managed_accounts import claimed, create_account, partner, person_of, shop  # noqa: F401  fixtures
from tests.second_factors import SoftKey, authenticator_of, wrong_code

pytestmark = pytest.mark.django_db
# These words are the same in English and in the other language.
EQUAL = {"es": {"API", "webhooks"}, "de": {"API", "Passkeys", "Code", "Name", "Bank"}}
# The buttons of the languages have the same names in all languages.
SAME_EVERYWHERE = {"Credit Platform", "UTC", "UTC.", "127.0.0.1", "English", "Español", "Deutsch"}
# The tests skip the text in these HTML elements: IDs, addresses, names that users chose, and code.
NAMES = {"bdi", "code", "strong", "script", "style"}
BEFORE_LOG_IN = (
    "login", "signup", "confirm", "confirm/none", "password/forgot", "password/forgot/sent", "password/new/1-none",
    "password/new/done", "inactive", "claim/none", "invitation/none",
)  # fmt: skip
AFTER_LOG_IN = (
    "", "email", "password", "sessions", "privacy", "logout", "second-factor",
    "second-factor/app/remove", "second-factor/codes/new", "second-factor/passkeys/add", "second-factor/confirm",
    "second-factor/passkeys/confirm", "reauthenticate",
)  # fmt: skip


class Sentences(HTMLParser):
    """Collects the visible text of a page, and the text for screen readers."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.open, self.language = set(), [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.language = values.get("lang") if tag == "html" else self.language
        self.texts |= {values[name] for name in ("alt", "aria-label", "placeholder", "title") if values.get(name)}
        if tag not in {"br", "img", "input", "link", "meta"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not NAMES & {*self.open}:
            self.texts |= set(re.split(r" ?\| |(?<=[.?!:]) ", " ".join(data.split())))


def equal_texts(show):
    """Return the texts of a page in other languages that are the same in English."""
    english, equal = Sentences(show("en").content.decode()), []
    assert english.language == "en"
    for language, expected in EQUAL.items():
        other = Sentences(show(language).content.decode())
        assert other.language == language
        texts = {text for text in english.texts & other.texts if re.search("[A-Za-z]{2}", text) and "@" not in text}
        equal += sorted(texts - expected - SAME_EVERYWHERE)
    return equal


def getter(browser, path):
    def show(language):
        response = browser.get(path, HTTP_ACCEPT_LANGUAGE=language, follow=True)
        assert all("set-password" in url for url, _status in response.redirect_chain), "another page"
        return response

    return show


def poster(browser, path, **data):
    return lambda language: browser.post(path, data, HTTP_ACCEPT_LANGUAGE=language, follow=True)


@pytest.fixture
def browser(user):
    """Return a browser of a user who has just logged in with a password and a second factor."""
    confirm(user, "jane@example.org")
    user.refresh_from_db()
    browser = Client()
    browser.post("/account/login", {"login": user.username, "password": PASSWORD})
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    add = "/account/second-factor/passkeys/add"
    data = re.search(
        r'id="js_data" type="application/json">(.*?)</script>', browser.get(add, secure=True).content.decode()
    )[1]
    key = SoftKey().create(json.loads(data)["creation_options"])
    browser.post(add, {"name": "Phone 1", "credential": json.dumps(key)}, secure=True)
    authenticator_of(user)
    return browser


def test_translated_page_before_the_log_in_has_no_english_sentence(client, settings):
    for settings.SIGN_UP in ("open", "closed"):
        for path in BEFORE_LOG_IN:
            assert equal_texts(getter(client, f"/account/{path}")) == [], path


def test_translated_page_after_the_log_in_has_no_english_sentence(browser, user):
    ask_to_change(user, "new@example.org", now=timezone.now())
    request_export(Actor(user, "session"), user.pk, now=timezone.now())
    passkey = Authenticator.objects.get(type="webauthn").pk
    for path in (*AFTER_LOG_IN, f"second-factor/passkeys/{passkey}/remove"):
        assert equal_texts(getter(browser, f"/account/{path}")) == [], path
    # If an authenticator app exists, the page redirects to its removal.
    Authenticator.objects.get(user=user, type="totp").delete()
    assert equal_texts(getter(browser, "/account/second-factor/app/add")) == []


def test_labels_of_account_forms_end_without_a_colon(browser, client, shop):  # noqa: F811
    create_account(shop, email="customer@example.org")
    before = [client.get(f"/account/{path}") for path in (*BEFORE_LOG_IN, f"claim/{token_of('claim')}")]
    after = [browser.get(f"/account/{path}") for path in (*AFTER_LOG_IN, "name")]
    pages = "".join(page.content.decode() for page in (*before, *after))
    labels = re.findall(r"<(?:label|legend)[^>]*>(.*?)</", pages)
    assert {"Password", "New password", "New email address", "User name", "Code", "First name"} <= {*labels}
    assert [label for label in labels if label.endswith(":")] == []


def test_forms_of_log_in_and_passwords_have_no_placeholders(browser, client):
    for path in ("login", "signup", "password/forgot"):
        assert "placeholder=" not in client.get(f"/account/{path}").content.decode(), path
    page = browser.get("/account/password").content.decode()
    assert "Current password" in page
    assert "placeholder=" not in page


def test_form_to_enter_the_password_again_has_no_placeholder(client, user):
    client.post("/account/login", {"login": user.username, "password": PASSWORD})
    page = client.get("/account/reauthenticate").content.decode()
    assert 'name="password"' in page
    assert "placeholder=" not in page


def test_translated_page_without_a_second_factor_has_no_english_sentence(client, user):
    client.post("/account/login", {"login": user.username, "password": PASSWORD})
    assert equal_texts(getter(client, "/account/reauthenticate")) == []
    client.post("/account/reauthenticate", {"password": PASSWORD})
    for path in ("", "email", "second-factor", "second-factor/app/add", "second-factor/codes/new", "privacy"):
        assert equal_texts(getter(client, f"/account/{path}")) == []
    for path in ("second-factor/app/add", "email", "password"):
        assert equal_texts(poster(client, f"/account/{path}", code="1", email="x", oldpassword="x")) == []


def test_translated_account_form_responses_have_no_english_sentence(browser, client, user, settings):
    settings.SIGN_UP = "open"
    for path in ("login", "signup", "password/forgot"):
        assert equal_texts(poster(client, f"/account/{path}", login="x", password="x", email="x" * 300)) == []
    wrong = {"oldpassword": "x", "password": "x", "password1": "1", "password2": "2", "code": wrong_code(), "email": ""}
    for path in ("email", "password", "reauthenticate", "second-factor/confirm"):
        assert equal_texts(poster(browser, f"/account/{path}", **wrong)) == []
    for path, data in (("second-factor/codes/new", {}), ("", {"wants_mail": "yes"}), ("", {"wants_mail": "no"})):
        assert equal_texts(poster(browser, f"/account/{path}", **data)) == []
    client.post("/account/login", {"login": user.username, "password": PASSWORD})
    assert equal_texts(getter(client, "/account/second-factor/log-in")) == []
    assert equal_texts(poster(client, "/account/second-factor/log-in", code=wrong_code())) == []


def test_translated_page_of_a_mailed_link_has_no_english_sentence(browser, client, user, operator, shop):  # noqa: F811
    ask_to_change(user, "new@example.org", now=timezone.now())
    create_account(shop, email="customer@example.org")
    invitation = f"/account/invitation/{invited(operator)[1]}"
    key = f"{user_pk_to_url_str(user)}-{default_token_generator.make_token(user)}"
    for visitor, path in (
        (browser, f"/account/address/{token_of('confirm_address')}"),
        (browser, invitation),
        (client, invitation),
        (client, f"/account/claim/{token_of('claim')}"),
        (client, f"/account/password/new/{key}"),
    ):
        assert equal_texts(getter(visitor, path)) == []
    assert equal_texts(poster(browser, invitation)) == []
    accepted = Invitation.objects.get()
    accepted.accepted_by = user
    accepted.save()
    assert equal_texts(getter(browser, f"/account/invitation/accepted/{accepted.pk}")) == []
    claim = poster(client, f"/account/claim/{token_of('claim')}", username="admin", password1="1", password2="2")
    assert equal_texts(claim) == []
    address = UserFactory().emailaddress_set.create(email="third@example.org")
    link = f"/account/confirm/{EmailConfirmationHMAC(address).key}"
    assert equal_texts(getter(client, link)) == []


def test_translated_consent_and_access_pages_have_no_english_sentence(browser, user, shop):  # noqa: F811
    app = make_client()[0]
    family = start_family(user=user, now=timezone.now(), client=app, scope=" ".join(SCOPES)).refresh_token
    assert family
    for kind, scope in (
        (kinds.ELECTRONIC_NOTICES, "notices about applications"),
        (kinds.LENDER_SHARING, f"{app.pk}: bank, identity to lender 7"),
        (kinds.CREDIT_REPORT, f"{app.pk}: credit report to lender 7"),
    ):
        give_consent(user.pk, kind, user.consents.get(kind=kinds.APP).reference, scope=scope, now=timezone.now())
    assert equal_texts(getter(browser, "/account/privacy")) == []
    assert equal_texts(getter(browser, "/oauth/grants")) == []
    customer = Client()
    customer.force_login(person_of(claimed(shop)))
    assert equal_texts(getter(customer, "/oauth/grants")) == []


def test_translated_account_mail_has_no_english_sentence():
    facts = {"link": "https://x.test/", "has_keys": True, "has_apps": True}
    mails = [(file.stem, facts) for file in (ROOT / "config/mail/templates/mail").glob("*.txt")]
    mails += [("account_changed", facts | {"event": event}) for event in {*EVENTS.values(), "staff_linked"}]
    for template, context in mails:
        english, *others = (
            message_of(to="a@example.org", template=template, context=context, language=wished)
            for wished in ("en", *EQUAL)
        )
        lines = [{*english.body.splitlines()} & {*other.body.splitlines()} for other in others]
        assert lines == [{"", "https://x.test/"}] * 2, (template, context)
        assert english.subject not in [other.subject for other in others], (template, context)


def test_account_mail_uses_the_language_of_the_page(browser, client):
    client.post("/account/password/forgot", {"email": "jane@example.org"}, HTTP_ACCEPT_LANGUAGE="de-AT")
    assert OutgoingMail.objects.latest("id").language == "de"


@pytest.mark.parametrize("language", EQUAL)
def test_every_account_page_text_is_in_the_compiled_catalog(language):
    folder = ROOT / f"identity/locale/{language}/LC_MESSAGES"
    with (folder / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for english, ours in re.findall(r'^msgid "(.+)"\nmsgstr "(.*)"$', (folder / "django.po").read_text(), re.MULTILINE):
        assert compiled.gettext(english.replace('\\"', '"')) == ours.replace('\\"', '"') != "", "run msgfmt"
    texts = {
        text
        for name in ("account", "mfa", "usersessions", "oauth")
        for file in (ROOT / "identity/templates" / name).rglob("*.*")
        for text in re.findall(r'{% translate "(.*?)" %}', file.read_text())
    }
    with translation.override(language):
        texts |= {*SCOPES.values(), *refused_with([])}
        assert {text for text in texts if translation.gettext(text) == text} <= {"API", "Passkeys", "webhooks"}


AT = datetime(2028, 2, 1, 3, tzinfo=UTC)  # the previous day in Oregon


@pytest.fixture
def in_oregon(user):
    return written(applied(listed(), consumer=user), living_in("OR"))


def read(browser, path):
    return " ".join(browser.get(path).content.decode().split())


@pytest.fixture
def authorized(user):
    """Authorize an app. This comes before the second factor, which the page of the app would require."""
    client, secret = make_client()
    exchange(code_for(user, client), client, secret)
    assert TokenFamily.objects.filter(user=user).exists()


@pytest.mark.usefixtures("in_oregon")
class TestInOregon:
    def test_sessions_page_shows_times_in_the_applicants_time_zone(self, browser, user):
        UserSession.objects.filter(user=user).update(created_at=AT)
        page = read(browser, "/account/sessions")
        assert "Since: January 31, 2028, 7:00 p.m. PST." in page
        assert "UTC" not in page
        UserSession.objects.filter(user=user).update(created_at=datetime(2028, 7, 1, 3, tzinfo=UTC))
        assert "Since: June 30, 2028, 8:00 p.m. PDT." in read(browser, "/account/sessions")
        assert timezone.get_current_timezone_name() == "UTC", "the time zone ends with the request"

    def test_privacy_page_shows_consent_dates_in_the_applicants_time_zone(self, browser, user):
        give_consent(user.pk, ELECTRONIC_NOTICES, 1, scope="x", now=AT)
        page = read(browser, "/account/privacy")
        assert "(January 31, 2028)" in page
        assert re.search(r"The dates are in the time zone P[SD]T\.", page)

    def test_account_pages_with_dates_state_the_time_zone_of_the_application_list(self, authorized, browser):
        paths = ("/my", "/account/privacy", "/account/second-factor", "/oauth/grants")
        zones = [re.search(r"The dates are in the time zone [A-Z]+\.", read(browser, path))[0] for path in paths]
        assert len({*zones}) == 1, zones


def test_sessions_page_of_an_account_without_applications_shows_times_in_utc(browser, user):
    UserSession.objects.filter(user=user).update(created_at=AT)
    assert "Since: February 1, 2028, 3:00 a.m. UTC." in read(browser, "/account/sessions")
