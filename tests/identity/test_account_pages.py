"""Test sign-up, confirmation, log-in, password reset, changes, and deletion under `/account/`."""

import html
import json
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core import mail
from django.db import connection
from django.template.loader import get_template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import formats, timezone

import identity
from config.core.lifecycle import Actor
from config.mail.delivery import deliver_some
from config.mail.models import OutgoingMail
from config.ops.pruning import prune
from config.webhooks.endpoints import create_endpoint
from identity.access.tokens import start_family
from identity.accounts import urls
from identity.accounts.adapter import AccountAdapter
from identity.accounts.addresses import accounts_with, confirm
from identity.accounts.invitations import invite
from identity.models import AccountHistory, Erasure, OneTimeLink, User
from tests.api import ApiClient, assert_error
from tests.factories import PASSWORD, ApplicationFactory, ClaimFactory, ProviderFactory, UserFactory
from tests.identity.oauth_support import make_client
from tests.identity.support import issue
from tests.identity.test_invitations import token_of
from tests.second_factors import authenticator_of, code_of

pytestmark = pytest.mark.django_db
EMAIL, NEW_PASSWORD = "jane@example.org", "a new one, and long"
ERASE = {"do": "erase"}
WAYS = ["/account/", "/account/name", "/account/email", "/account/password", "/account/sessions", "/account/privacy"]
ENTRANCES = ["/account/login", "/account/signup", "/account/password/forgot"]


def sign_up(browser=None, email=EMAIL, password=PASSWORD):
    return (browser or Client()).post("/account/signup", {"email": email, "password1": password})


def log_in(name, password=PASSWORD, browser=None, **options):
    browser = browser or Client()
    return browser, browser.post("/account/login", {"login": name, "password": password}, **options)


def mailed():
    """Deliver the waiting mails; return them and empty the outbox."""
    while any(deliver_some(now=timezone.now()).values()):
        pass
    messages, mail.outbox[:] = list(mail.outbox), []
    return messages


def link_in(message):
    """Return the path of the only link in a mail."""
    (link,) = re.findall(r"https?://\S+", message.body)
    return urlsplit(link).path


def follow(browser, path, data):
    """Follow a link and its redirects, then press the button of the page."""
    page = browser.get(path, follow=True)
    where = page.redirect_chain[-1][0] if page.redirect_chain else path
    return browser.post(where, data)


@pytest.fixture
def jane():
    """Return a user who signed up and confirmed the address."""
    sign_up()
    follow(Client(), link_in(mailed()[0]), {})
    return User.objects.get(email=EMAIL)


def test_account_can_sign_up_confirm_the_address_and_log_in():
    browser = Client()
    assert sign_up(browser).headers["Location"] == "/account/confirm"
    assert log_in(EMAIL, browser=browser)[1].headers["Location"] == "/account/confirm", "not before it is confirmed"
    first, again = mailed()
    assert first.to == again.to == [EMAIL]
    path = link_in(first)
    assert Client().get(path).status_code == 200
    assert not EmailAddress.objects.get().verified, "programs that scan mail follow links"
    assert follow(Client(), path, {}).status_code == 302
    browser, answer = log_in(EMAIL)
    assert answer.headers["Location"] == "/account/"
    user = User.objects.get()
    assert "jane" not in user.username, "other people see names"
    assert user.username in browser.get("/account/").content.decode()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("/my/apply/7", "?next=%2Fmy%2Fapply%2F7"), ("https://evil.example/", ""), ("//evil.example", "")],
)
@pytest.mark.usefixtures("db")
def test_address_confirmation_links_back_to_the_page_before_sign_up(wanted, expected):
    browser = Client()
    browser.post("/account/signup", {"email": EMAIL, "password1": PASSWORD, "next": wanted})
    path = link_in(mailed()[0])
    assert follow(browser, path, {}).headers["Location"] == f"/account/login{expected}"


class TestUnconfirmedAddress:
    """An unconfirmed account is deleted after a week, which frees its address."""

    @pytest.fixture
    def account(self):
        sign_up()
        mailed()
        return User.objects.get()

    def prune_after(self, days):
        prune(now=timezone.now() + timedelta(days=days))
        return not User.objects.exists()

    def test_prune_deletes_an_unconfirmed_account_after_a_week(self, account):
        assert not self.prune_after(6)
        assert self.prune_after(8)
        assert sign_up().status_code == 302
        assert [message.subject for message in mailed()] == ["Confirm your address for Credit Platform"]

    def test_prune_retains_confirmed_accounts_and_accounts_of_operators(self, jane, user):
        self.prune_after(400)
        assert {*User.objects.all()} == {jane, user}

    @pytest.mark.parametrize(
        "give",
        [
            issue, lambda account: account.groups.add(Group.objects.first()),
            lambda _account: User.objects.update(last_login=timezone.now()),
            lambda _account: User.objects.update(is_staff=True),
            lambda account: ApplicationFactory(consumer=account), lambda account: ClaimFactory(user=account),
        ],
        ids=["a key", "a group", "a log-in", "a place on the staff", "an application", "a claim"],
    )  # fmt: skip
    def test_prune_retains_unconfirmed_accounts_with_records(self, account, give):
        give(account)
        assert not self.prune_after(400)


def test_sign_up_with_a_weak_password_or_an_invalid_address_creates_no_account():
    passwords = ("short", "password1234", "12345678901", "jane@example.org", "CreditPlatform1!")
    addresses = (
        "", "jane", "jane@", "a@b@c.d", "jane\n@example.org", "x" * 250 + "@example.org", "j\x00@x.org", "a@localhost",
        "a" * 65 + "@example.org", "a\u0007@example.org", "a@-x.org", "a@b..c",
    )  # fmt: skip
    for form in (*({"password": password} for password in passwords), *({"email": email} for email in addresses)):
        assert sign_up(**form).status_code == 200, form
    assert not User.objects.exists()
    assert not OutgoingMail.objects.exists()


def test_log_in_accepts_user_name_and_address_in_any_case(jane):
    for name in (EMAIL, "Jane@Example.org", f" {EMAIL} ", jane.username):
        assert log_in(name)[1].status_code == 302


def test_log_in_ignores_redirects_to_other_hosts(jane):
    for wanted in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        answer = Client().post("/account/login", {"login": EMAIL, "password": PASSWORD, "next": wanted})
        assert answer.headers["Location"] == "/account/"


def test_a_password_is_reset_by_a_one_time_link(jane):
    old, _ = log_in(EMAIL)
    Client().post("/account/password/forgot", {"email": EMAIL})
    path = link_in(mailed()[0])
    assert follow(Client(), path, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}).status_code == 302
    assert log_in(EMAIL, NEW_PASSWORD)[1].status_code == 302
    assert log_in(EMAIL)[1].status_code == 200
    assert old.get("/account/").status_code == 302, "what was logged in is not any more"
    follow(Client(), path, {"password1": "another long one", "password2": "another long one"})
    assert log_in(EMAIL, "another long one")[1].status_code == 200
    assert [message.subject for message in mailed()] == ["Your password for Credit Platform was reset"]


def test_password_reset_issues_no_token_without_the_second_factor(jane):
    authenticator_of(jane)
    Client().post("/account/password/forgot", {"email": EMAIL})
    follow(Client(), link_in(mailed()[0]), {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    body = {"username": jane.username, "password": NEW_PASSWORD}
    assert_error(ApiClient().send("/auth/token", body), 401, "E2001")
    assert ApiClient().send("/auth/token", {**body, "otp": code_of()}).status_code == 200


def test_password_reset_link_expires(jane, settings):
    Client().post("/account/password/forgot", {"email": EMAIL})
    settings.PASSWORD_RESET_TIMEOUT = -1
    follow(Client(), link_in(mailed()[0]), {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert log_in(EMAIL, NEW_PASSWORD)[1].status_code == 200


def test_mailed_links_use_the_installations_address_for_any_host_header(jane, settings):
    settings.ALLOWED_HOSTS = ["*"]
    Client(headers={"host": "evil.example"}).post("/account/password/forgot", {"email": EMAIL})
    assert settings.APP_URL in mailed()[0].body


def test_password_change_requires_the_old_password_and_ends_other_sessions_and_tokens(jane):
    browser, _ = log_in(EMAIL)
    other, _ = log_in(EMAIL)
    fields = {"oldpassword": "wrong", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert browser.post("/account/password", fields).status_code == 200
    assert browser.post("/account/password", fields | {"oldpassword": PASSWORD}).status_code == 302
    assert browser.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert log_in(EMAIL, NEW_PASSWORD)[1].status_code == 302


def test_guesses_of_the_old_password_share_the_rate_limit_of_log_ins(jane):
    browser, _ = log_in(EMAIL)
    fields = {"oldpassword": "wrong", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert [browser.post("/account/password", fields).status_code for _ in range(11)] == [200] * 10 + [429]


def test_account_address_changes_after_the_new_address_is_confirmed(jane):
    browser, _ = log_in(EMAIL)
    entries_before = AccountHistory.objects.count()
    wanted = {"email": "new@example.org", "action_add": ""}
    first = browser.post("/account/email", wanted).headers["Location"]
    assert first.startswith("/account/reauthenticate"), "a session that somebody found open changes nothing"
    assert browser.post(first, {"password": "wrong"}).status_code == 200
    assert browser.post(first, {"password": PASSWORD}).status_code == 302
    (message,) = mailed()
    assert message.to == ["new@example.org"]
    assert User.objects.get().email == EMAIL
    assert Client().get(link_in(message)).status_code == 302, "the mail alone confirms nothing"
    follow(browser, link_in(message), {})
    assert User.objects.get().email == "new@example.org"
    assert EMAIL in {to for item in mailed() for to in item.to}, "the old address hears of it"
    assert log_in("new@example.org")[1].status_code == 302
    (entry,) = AccountHistory.objects.order_by("id")[entries_before:]
    assert (entry.action, entry.principal, entry.credential) == ("account.email_changed", jane, "session")


def test_confirmation_of_a_sign_up_is_not_recorded_as_a_change_of_the_address(db):
    sign_up()
    follow(Client(), link_in(mailed()[-1]), {})
    assert EmailAddress.objects.get().verified
    assert not AccountHistory.objects.exists()


VICTIM = "victim@example.org"


@pytest.fixture
def hijacker(jane):
    """Return a browser of an account that requested a change to the victim's address."""
    browser, _ = log_in(EMAIL)
    first = browser.post("/account/email", {"email": VICTIM}).headers["Location"]
    browser.post(first, {"password": PASSWORD})
    return browser


def test_sign_up_accepts_an_address_that_another_account_requested(hijacker, jane):
    (link,) = [link_in(mail) for mail in mailed()]
    sign_up(email=VICTIM)
    confirmation = mailed()[-1]
    assert "Confirm your address" in confirmation.subject
    follow(Client(), link_in(confirmation), {})
    victim = User.objects.get(email=VICTIM)
    assert victim != jane
    assert EmailAddress.objects.get(email=VICTIM).user == victim
    assert follow(hijacker, link, {}).status_code == 410, "the address is the victim's by now"
    assert User.objects.get(pk=jane.pk).email == EMAIL


def test_password_reset_ignores_accounts_that_only_requested_the_address(hijacker):
    mailed()
    Client().post("/account/password/forgot", {"email": VICTIM})
    (answer,) = mailed()
    assert "/account/password/new/" not in answer.body


def test_address_change_link_works_only_for_the_requesting_account(hijacker):
    (link,) = [link_in(mail) for mail in mailed()]
    other = UserFactory(username="other")
    browser, _ = log_in("other")
    assert browser.post(link).status_code == 410
    assert not EmailAddress.objects.filter(user=other, email=VICTIM).exists()
    assert not EmailAddress.objects.filter(email=VICTIM).exists()


def test_an_address_change_stored_by_version_1_0_is_ignored(jane):
    pending = EmailAddress.objects.create(user=jane, email=VICTIM, verified=False)
    key = EmailConfirmationHMAC(pending).key
    follow(Client(), f"/account/confirm/{key}", {})
    pending.refresh_from_db()
    assert not pending.verified
    assert accounts_with(VICTIM) == []
    sign_up(email=VICTIM)
    assert EmailAddress.objects.get(email=VICTIM).user != jane


def test_password_reset_suspends_keys_and_webhooks_and_revokes_apps(jane):
    key = issue(jane)
    endpoint = create_endpoint(
        account_id=jane.pk, url="https://example.org/hook", event_types=["*"], description="", now=timezone.now()
    )
    app, _secret = make_client()
    granted = start_family(user=jane, now=timezone.now(), client=app, scope="offers:read")
    Client().post("/account/password/forgot", {"email": EMAIL})
    done = follow(Client(), link_in(mailed()[0]), {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert done.status_code == 302
    assert "suspended" in mailed()[-1].body
    assert "/developers/keys" in Client().get(done.headers["Location"]).content.decode()
    assert_error(ApiClient(api_key=key.key).read("/auth/me"), 401, "E2009")
    assert_error(ApiClient(bearer=granted.access_token).read("/auth/me"), 401, "E2002")
    endpoint.refresh_from_db()
    assert endpoint.disabled_reason == "disabled_by_password_reset"
    browser, _ = log_in(EMAIL, NEW_PASSWORD)
    assert "Confirm the key if it is yours" in browser.get("/developers/keys").content.decode()
    browser.post("/developers/keys", {"do": "confirm", "key_id": key.record.pk})
    assert ApiClient(api_key=key.key).read("/auth/me").status_code == 200


@pytest.mark.parametrize(
    ("typed", "mailed_to"),
    [("foo@stra\u00dfe.de", "foo@xn--strae-oqa.de"), ("Foo@B\u00dcCHER.example", "foo@xn--bcher-kva.example")],
)
def test_mail_to_an_international_domain_uses_idna_2008(db, typed, mailed_to):
    sign_up(email=typed)
    assert mailed()[0].to == [mailed_to]


def test_sessions_page_lists_sessions_and_ends_other_sessions(jane):
    browser, _ = log_in(EMAIL)
    other, _ = log_in(EMAIL)
    page = browser.get("/account/sessions").content.decode()
    assert (page.count("Here"), page.count("Elsewhere")) == (1, 1)
    first = browser.post("/account/sessions").headers["Location"]
    assert first.startswith("/account/reauthenticate")
    browser.post(first, {"password": PASSWORD})
    assert browser.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302


def test_log_in_changes_the_session_id_and_log_out_deletes_the_session(jane):
    browser = Client()
    browser.get("/account/login")
    browser.post("/account/signup", {"email": "x", "password1": "x"})
    before = browser.session.session_key
    log_in(EMAIL, browser=browser)
    key = browser.session.session_key
    assert key != before
    assert browser.post("/account/logout").status_code == 302
    assert not Session.objects.filter(session_key=key).exists()


def test_an_active_session_ends_after_twelve_hours(jane):
    browser, _ = log_in(EMAIL)
    session = browser.session
    session["began"] -= 12 * 3600 + 1
    session.save()
    assert browser.get("/account/").headers["Location"] == "/account/login?next=/account/"
    assert not Session.objects.filter(session_key=session.session_key).exists()


def test_long_password_of_any_characters_is_accepted_unchanged():
    password = " Ünïcode, spaces and 64 characters more: " + "x" * 64 + " "
    sign_up(password=password)
    follow(Client(), link_in(mailed()[0]), {})
    assert log_in(EMAIL, password)[1].status_code == 302
    assert log_in(EMAIL, password.strip())[1].status_code == 200


def test_deletion_of_an_account_requires_the_password_again(jane):
    browser, _ = log_in(EMAIL)
    closed = browser.get("/account/privacy").content.decode().partition("<details>")[2].partition("</details>")[0]
    assert 'value="erase"' in closed
    location = browser.post("/account/privacy", ERASE).headers["Location"]
    assert browser.post(location, {"password": "wrong", "next": "/account/privacy"}).status_code == 200
    assert not Erasure.objects.exists()
    browser.post(location, {"password": PASSWORD, "next": "/account/privacy"})
    page = browser.post("/account/privacy", ERASE, follow=True).content.decode()
    assert Erasure.objects.get().account == jane
    assert "You requested the deletion of your account." in page
    starts_on = formats.date_format(timezone.now() + timedelta(days=14), "F j, Y")
    assert f"It starts on {starts_on}." in page
    kept = browser.post("/account/privacy", {"do": "keep"}, follow=True).content.decode()
    assert "The deletion is canceled." in kept


@pytest.mark.parametrize("path", ["/account/login", "/account/reauthenticate"])
def test_forgotten_password_link_follows_the_password_field(jane, path):
    browser, _ = log_in(EMAIL) if "reauthenticate" in path else (Client(), None)
    page = browser.get(path).content.decode()
    assert page.index('name="password"') < page.index("/account/password/forgot")
    assert 'aria-describedby="id_password_helptext"' in page
    assert page.count('id="id_password_helptext"') == 1


def test_log_in_page_before_an_application_form_explains_the_log_in():
    assert "To apply, log in or sign up." in Client().get("/account/login?next=/my/apply/7").content.decode()
    assert "To apply" not in Client().get("/account/login?next=/my").content.decode()


def test_account_pages_redirect_anonymous_visitors_to_the_log_in():
    for path in WAYS:
        assert unquote(Client().get(path).headers["Location"]) == f"/account/login?next={path}"


@pytest.mark.parametrize(
    "path",
    [
        *ENTRANCES,
        "/account/logout",
        "/account/privacy",
        "/my/consent",
        "/admin/login/",
        "/developers/keys",
        "/oauth/authorize",
        "/account/second-factor/log-in",
        "/account/second-factor/confirm",
        "/account/second-factor/app/add",
    ],
)
def test_expired_account_form_links_to_its_page_and_the_log_in(path):
    page = f"http://testserver{path}"
    answer = Client(enforce_csrf_checks=True).post(path, {"text": "<b>"}, headers={"Referer": page})
    text = answer.content.decode()
    assert (answer.status_code, answer.headers["Cache-Control"]) == (403, "no-store")
    assert "This form has expired" in text
    assert f'<a href="{page}">Open the page again</a>' in text
    assert 'href="/account/login"' in text


@pytest.mark.parametrize(
    "referer",
    ["https://evil.example/", "//evil.example", "javascript:alert(1)", "http://testserver.evil.example/", "",
    "\\\\evil.example",
     "http://testserver@evil.example/", "data:text/html,x", "http:///evil.example", "ftp://testserver/"],
)  # fmt: skip
def test_expired_account_form_does_not_link_to_another_site(referer):
    answer = Client(enforce_csrf_checks=True).post("/account/login", headers={"Referer": referer})
    assert answer.status_code == 403
    assert "Open the page again" not in answer.content.decode()


def test_account_pages_are_not_cached_and_run_no_script():
    for path in (*ENTRANCES, "/account/confirm", "/account/invitation/x"):
        page = Client().get(path)
        assert page.headers["Cache-Control"] == "no-store", path
        assert "<script" not in page.content.decode(), path
        assert "style=" not in page.content.decode(), path


FORMS = pytest.mark.parametrize(
    ("path", "field", "more"),
    [
        ("/account/signup", "email", {"password1": PASSWORD}), ("/account/password/forgot", "email", {}),
        ("/account/login", "login", {"password": "wrong"}),
    ],
)  # fmt: skip


@pytest.mark.parametrize("path", ENTRANCES)
def test_account_form_rejected_for_csrf_counts_toward_the_rate_limit(path, settings):
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"token": 2}
    browser = Client(enforce_csrf_checks=True)
    assert [browser.post(path).status_code for _ in range(3)] == [403, 403, 429]


class TestAccountEnumeration:
    """Known and unknown addresses get the same bytes, status and cookies, and a mail in each case."""

    def seen(self, answer, browser):
        body = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", answer.content.decode())
        headers = {name: value for name, value in answer.headers.items() if name not in {"X-Request-Id"}}
        return answer.status_code, headers, body, sorted(answer.cookies)

    def ask(self, path, data):
        browser = Client()
        first = browser.post(path, data)
        steps = [self.seen(first, browser)]
        if first.status_code == 302:
            steps.append(self.seen(browser.get(first.headers["Location"]), browser))
        return html.unescape(str(steps)).replace(data.get("email", "") or data.get("login", ""), "…")

    @FORMS
    def test_account_forms_return_the_same_response_for_unknown_addresses(self, jane, path, field, more):
        assert self.ask(path, {field: EMAIL, **more}) == self.ask(path, {field: "june@example.org", **more})
        addresses = [to for message in mailed() for to in message.to]
        assert addresses == ([] if field == "login" else [EMAIL, "june@example.org"])

    @FORMS
    def test_account_forms_execute_the_same_statements_for_unknown_addresses(self, jane, path, field, more):
        def statements(email):
            with CaptureQueriesContext(connection) as captured:
                Client().post(path, {field: email, **more})
            texts = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
            return sorted(re.sub(r" WHERE .*| VALUES .*|^SELECT .*? FROM ", "", text) for text in texts)

        assert statements(EMAIL) == statements("june@example.org")

    def test_sign_up_with_a_known_address_computes_a_password_hash(self, jane, settings):
        from tests.identity.test_log_in_limits import CountingHasher

        settings.PASSWORD_HASHERS = ["tests.identity.test_log_in_limits.CountingHasher"]
        counts = []
        for email in (EMAIL, "june@example.org"):
            before = CountingHasher.count
            sign_up(email=email)
            counts.append(CountingHasher.count - before)
        assert counts[0] == counts[1] == 1

    def test_sign_ups_and_mails_of_an_address_are_rate_limited(self, jane):
        answers = [sign_up(email=f"x{number}@example.org").status_code for number in range(20)]
        assert answers[-1] == 429, "one of them is jane's"
        status_codes = [Client().post("/account/password/forgot", {"email": EMAIL}).status_code for _ in range(12)]
        assert status_codes[-1] == 429


class TestName:
    def test_account_changes_its_name_with_an_entry_in_the_history(self, jane):
        browser = Client()
        browser.force_login(jane, backend="django.contrib.auth.backends.ModelBackend")
        assert 'href="/account/name"' in browser.get("/account/").content.decode()
        answer = browser.post("/account/name", {"first_name": " Carmen ", "last_name": "de  la Cruz"})
        assert answer.headers["Location"] == "/account/"
        assert "<bdi>Carmen de la Cruz</bdi>" in browser.get("/account/").content.decode()
        assert 'value="Carmen"' in browser.get("/account/name").content.decode()
        assert AccountHistory.objects.get(action="account.name_changed").account == jane

    @pytest.mark.parametrize("name", ["", "  ", "Car\u202emen", "x" * 151, "a\x00b"])
    def test_invalid_name_is_rejected(self, jane, name):
        browser = Client()
        browser.force_login(jane, backend="django.contrib.auth.backends.ModelBackend")
        assert browser.post("/account/name", {"first_name": name}).status_code == 200
        assert not User.objects.exclude(first_name="").exists()

    def test_partner_cannot_change_the_name_that_customers_see(self, jane):
        jane.groups.add(Group.objects.get(name="Partner"))
        browser = Client()
        browser.force_login(jane, backend="django.contrib.auth.backends.ModelBackend")
        assert "/account/name" not in browser.get("/account/").content.decode()
        for method in (browser.get, browser.post):
            assert method("/account/name", {"first_name": "Bank"}).status_code == 403


class TestInvitations:
    @pytest.fixture(autouse=True)
    def _invited(self, settings):
        settings.SIGN_UP = "invited"

    def link(self):
        invite(actor=Actor.system("test"), email=EMAIL, role="partner", now=timezone.now())
        return f"/account/invitation/{token_of()}"

    def test_sign_up_without_an_invitation_is_rejected(self):
        page = sign_up()
        assert b"By invitation" in page.content
        assert not User.objects.exists()

    def test_an_invitation_creates_one_account_with_a_confirmed_address(self):
        path, browser = self.link(), Client()
        assert EMAIL in browser.get(path).content.decode()
        assert not OneTimeLink.objects.filter(used_at__isnull=False).exists()
        assert browser.post(path).headers["Location"] == "/account/signup"
        sign_up(browser)
        assert EmailAddress.objects.get().verified
        assert User.objects.get().groups.get().name == "Partner"
        assert log_in(EMAIL)[1].headers["Location"] == "/account/"
        again = Client()
        assert again.get(path).status_code == again.post(path).status_code == 410
        assert b"By invitation" in sign_up(again, "other@example.org").content

    def test_second_concurrent_sign_up_with_an_invitation_returns_410(self, monkeypatch):
        path, browser = self.link(), Client()
        browser.post(path)
        taken = AccountAdapter.generate_unique_username

        def overtaken(*given):
            OneTimeLink.objects.update(used_at=timezone.now())
            return taken(*given)

        monkeypatch.setattr(AccountAdapter, "generate_unique_username", overtaken)
        assert sign_up(browser).status_code == 410
        assert not User.objects.exists()

    def test_an_invitation_rejects_sign_up_with_another_address(self):
        path, browser = self.link(), Client()
        browser.post(path)
        assert "for another address" in sign_up(browser, "other@example.org").content.decode()
        assert not User.objects.exists()

    def test_logged_in_account_can_accept_an_invitation_to_its_address(self):
        path, jane = self.link(), UserFactory()
        other = Client()
        other.force_login(UserFactory(), backend="django.contrib.auth.backends.ModelBackend")
        assert b"logged in with another address" in other.post(path).content
        confirm(jane, EMAIL)
        browser = Client()
        browser.force_login(jane, backend="django.contrib.auth.backends.ModelBackend")
        confirmation = browser.post(path).headers["Location"]
        assert "You accepted the invitation of" in browser.get(confirmation).content.decode()
        assert other.get(confirmation).status_code == 404
        assert Client().get(confirmation).status_code == 302
        assert jane.groups.get().name == "Partner"
        assert browser.post(path).status_code == 410

    def test_sign_up_with_an_expired_invitation_returns_410(self):
        path, browser = self.link(), Client()
        browser.post(path)
        OneTimeLink.objects.update(expires_at=timezone.now())
        assert b"By invitation" in sign_up(browser).content
        assert Client().get(path).status_code == 410

    def test_invitation_page_and_mail_name_the_lender_and_the_role(self):
        provider = ProviderFactory(id="701", name="Cedar Lending")
        invite(actor=Actor.system("test"), email=EMAIL, role="owner", provider_id=provider.pk, now=timezone.now())
        path, text = f"/account/invitation/{token_of()}", "Cedar Lending invites you as an owner."
        assert text in Client().get(path).content.decode()
        assert (
            "Cedar Lending le invita como propietario."
            in Client().get(path, headers={"accept-language": "es"}).content.decode()
        )
        context = json.loads(OutgoingMail.objects.latest("id").context)
        assert (context["inviter"], context["role"]) == ("Cedar Lending", "an owner")

    def test_sign_up_of_a_member_requires_a_name(self):
        provider, browser = ProviderFactory(id="701", name="Cedar Lending"), Client()
        invite(actor=Actor.system("test"), email=EMAIL, role="owner", provider_id=provider.pk, now=timezone.now())
        browser.post(f"/account/invitation/{token_of()}")
        fields = {"email": EMAIL, "password1": PASSWORD}
        assert "first_name" in browser.post("/account/signup", fields).context["form"].errors
        wrong = {**fields, "first_name": "Car\u202emen"}
        assert "first_name" in browser.post("/account/signup", wrong).context["form"].errors
        browser.post("/account/signup", {**fields, "first_name": " Carmen ", "last_name": "de  la Cruz"})
        assert User.objects.get(emailaddress__email=EMAIL).get_full_name() == "Carmen de la Cruz"

    def test_sign_up_with_an_invitation_names_it_and_ends_with_its_confirmation(self):
        provider, browser = ProviderFactory(id="701", name="Cedar Lending"), Client()
        provider.owner.groups.add(Group.objects.get(name="Lender"))
        invite(actor=Actor.system("test"), email=EMAIL, role="reader", provider_id=provider.pk, now=timezone.now())
        path = f"/account/invitation/{token_of()}"
        browser.post(path)
        page = browser.get("/account/signup").content.decode()
        assert "You accept the invitation of Cedar Lending as a reader." in page
        assert "You will get a mail" not in page
        assert f'href="/account/login?next={path}"' in page
        mails = OutgoingMail.objects.count()
        answer = browser.post("/account/signup", {"email": EMAIL, "password1": PASSWORD, "first_name": "Carmen"})
        page = browser.get(answer.headers["Location"]).content.decode()
        assert "You are now a reader of Cedar Lending" in page
        assert 'href="/admin/"' in page
        assert "The console requires a second factor." in page
        assert OutgoingMail.objects.count() == mails

    def test_confirmation_of_an_owner_without_a_console_says_who_can_open_it(self):
        provider, jane = ProviderFactory(id="701", name="Cedar Lending"), UserFactory()
        confirm(jane, EMAIL)
        invite(actor=Actor.system("test"), email=EMAIL, role="owner", provider_id=provider.pk, now=timezone.now())
        browser = Client()
        browser.force_login(jane, backend="django.contrib.auth.backends.ModelBackend")
        confirmation = browser.post(f"/account/invitation/{token_of()}").headers["Location"]
        page = browser.get(confirmation).content.decode()
        assert "You are now an owner of Cedar Lending" in page
        assert "to the group Lender" in page
        assert 'href="/admin/"' not in page
        refused = browser.get("/admin/login/", follow=True)
        assert refused.status_code == 403
        assert "You are an owner of Cedar Lending. " in refused.content.decode()
        assert "to the group Lender" in refused.content.decode()
        provider.owner.groups.add(Group.objects.get(name="Lender"))
        assert 'href="/admin/"' in browser.get(confirmation).content.decode()
        jane.providermember_set.all().delete()
        assert browser.get(confirmation).status_code == 404

    def test_sign_up_of_a_partner_asks_for_no_name(self):
        browser = Client()
        browser.post(self.link())
        assert "first_name" not in browser.get("/account/signup").context["form"].fields

    def test_unconfirmed_address_of_the_invitation_is_named_as_the_reason(self):
        path, browser = self.link(), Client()
        browser.force_login(UserFactory(email=EMAIL), backend="django.contrib.auth.backends.ModelBackend")
        text = browser.post(path).content.decode()
        assert "Your account has not confirmed this address yet." in text
        assert "logged in with another address" not in text

    def test_closed_sign_up_rejects_an_invitation(self, settings):
        path, browser = self.link(), Client()
        browser.post(path)
        settings.SIGN_UP = "closed"
        assert b"By invitation" in sign_up(browser).content
        assert not User.objects.exists()


def test_the_back_office_redirects_to_the_account_log_in(user):
    answer = Client().get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0] == "/account/login?next=/admin/"
    UserFactory(username="boss", is_staff=True, is_superuser=True)
    _, came = log_in("boss", browser=Client(), QUERY_STRING="")
    assert came.status_code == 302
    stranger, _ = log_in(user.username)
    assert stranger.get("/admin/", follow=True).status_code == 403


def test_every_account_page_overrides_the_library_template():
    for pattern in urls.urlpatterns:
        name = getattr(getattr(pattern.callback, "view_class", None), "template_name", None)
        if name is not None:
            file = Path(get_template(name).origin.name)
            assert file.is_relative_to(Path(identity.__file__).parent), name
