"""Test sign-up, confirmation, log-in, and changes of address and name under `/account/`."""

import html
import re
from datetime import timedelta
from urllib.parse import unquote, urlsplit

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.contrib.auth.models import Group
from django.core import mail
from django.db import connection
from django.templatetags.static import static
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.mail.delivery import deliver_some
from config.mail.models import OutgoingMail
from config.ops.pruning import prune
from identity.accounts.addresses import accounts_with
from identity.models import AccountHistory, User
from tests.factories import PASSWORD, ApplicationFactory, ClaimFactory, UserFactory
from tests.identity.support import issue
from tests.identity.test_invitations import person_with

pytestmark = pytest.mark.django_db
EMAIL = "jane@example.org"
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


def sign_up_confirmed(password=PASSWORD):
    sign_up(password=password)
    follow(Client(), link_in(mailed()[0]), {})


def session_of(user):
    browser = Client()
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return browser


@pytest.fixture
def jane(db):
    return person_with(EMAIL)


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
    page = browser.get("/account/").content.decode()
    assert EMAIL in page
    assert user.username not in page, "the sign-up generated it"
    overview = browser.get("/developers", follow=True).content.decode()
    assert user.username in overview
    assert f"user id <code>{user.pk}</code>" in overview
    assert not AccountHistory.objects.exists(), "the address has not changed"


def test_address_confirmation_links_back_to_the_page_before_sign_up():
    for wanted, expected in (
        ("/my/apply/7", "/my/apply/7"), ("https://evil.example/", ""), ("//evil.example", ""),
    ):  # fmt: skip
        browser = Client()
        browser.post("/account/signup", {"email": f"x{len(wanted)}@x.org", "password1": PASSWORD, "next": wanted})
        assert follow(browser, link_in(mailed()[0]), {}).headers["Location"] == (expected or "/my/apply")
        assert browser.get("/account/").status_code == 200, "the browser of the sign-up is logged in"


def test_address_confirmation_in_another_browser_prefills_the_log_in():
    sign_up()
    browser = Client()
    page = browser.post(link_in(mailed()[0]), follow=True)
    assert page.redirect_chain[-1][0] == "/account/login?next=%2Fmy%2Fapply"
    text = page.content.decode()
    assert "Your address is confirmed." in text
    assert f'value="{EMAIL}"' in text
    assert "Enter your password to continue." in text
    assert "No account yet?" not in text
    assert Client().get("/account/login").content.decode().count(EMAIL) == 0


def test_opened_confirmation_link_does_not_log_out_another_account(jane):
    browser, _ = log_in(EMAIL)
    sign_up(email="june@example.org")
    path = link_in(mailed()[0])
    assert "You are logged in with another account." in browser.get(path).content.decode()
    assert browser.get("/account/").status_code == 200
    assert browser.post(path).headers["Location"] == "/account/login?next=%2Fmy%2Fapply"
    assert browser.get("/account/").status_code == 302, "the button logs out"
    assert 'value="june@example.org"' in browser.get("/account/login").content.decode()


def test_page_after_sign_up_sends_another_mail_that_confirms_the_address():
    browser = Client()
    sign_up(browser)
    mailed()
    assert "Send another mail" in browser.get("/account/confirm").content.decode()
    page = browser.post("/account/confirm", follow=True).content.decode()
    assert f"We sent a mail to {EMAIL}." in page
    (message,) = mailed()
    assert follow(browser, link_in(message), {}).headers["Location"] == "/my/apply"
    assert EmailAddress.objects.get().verified
    stranger = Client()
    assert "Send another mail" not in stranger.get("/account/confirm").content.decode()
    assert stranger.post("/account/confirm").status_code == 302
    assert mailed() == []


def test_log_in_to_an_unconfirmed_account_states_the_reason():
    sign_up()
    browser, answer = log_in(EMAIL)
    page = browser.get(answer.headers["Location"]).content.decode()
    assert "You have not confirmed the address of your account yet." in page
    assert "Send another mail" in page


@pytest.mark.parametrize(("wanted", "leads_to"), [
    ("/my/apply/7", "/my/apply/7"), ("/my?buy=now", "/account/login?next=%2Fmy%2Fapply"),
    ("https://evil.example/", "/account/login?next=%2Fmy%2Fapply"),
])  # fmt: skip
def test_address_confirmation_in_another_browser_redirects_to_the_chosen_offer(wanted, leads_to):
    sign_up_page = {"email": EMAIL, "password1": PASSWORD, "next": wanted}
    Client().post("/account/signup", sign_up_page)
    (link,) = re.findall(r"https?://\S+", mailed()[0].body)
    browser = Client()
    page = browser.get(link).context
    answer = browser.post(urlsplit(link).path, {"next": page["redirect_field_value"] or ""})
    assert answer.headers["Location"] == leads_to


def test_used_confirmation_link_shows_that_the_address_is_already_confirmed():
    sign_up()
    path = link_in(mailed()[0])
    assert "This link has expired" in Client().get(f"{path}x").content.decode()
    assert "Confirm this address" in Client().get(path).content.decode()
    assert Client().post(path).status_code == 302
    for answer in (Client().get(path), Client().post(path)):
        page = answer.content.decode()
        assert answer.status_code == 200
        assert "Your address is confirmed" in page
        assert "This link has expired" not in page
        assert EMAIL not in page
        assert '<a href="/account/login">Log in</a></p>' in page
    browser, _ = log_in(EMAIL)
    page = browser.get(path).content.decode()
    assert 'The address was confirmed already. <a href="/account/">My account</a>' in page


def test_sign_up_result_page_shows_the_typed_address_only_on_the_first_view():
    browser = Client()
    pages = [sign_up(browser, email=f" {EMAIL} "), *(browser.get("/account/confirm") for _ in range(2))]
    assert [page.content.decode().count(f"We sent a mail to {EMAIL}.") for page in pages] == [0, 1, 0]


def prune_after(days):
    prune(now=timezone.now() + timedelta(days=days))


def test_prune_deletes_an_unconfirmed_account_after_a_week():
    sign_up()
    sign_up(email="Foo@B\u00dcCHER.example")
    assert [message.to for message in mailed()] == [[EMAIL], ["foo@xn--bcher-kva.example"]]
    prune_after(6)
    assert User.objects.exists()
    prune_after(8)
    assert not User.objects.exists()
    assert sign_up().status_code == 302
    assert [message.subject for message in mailed()] == ["Confirm your address for Credit Platform"]


def test_prune_retains_confirmed_accounts_and_unconfirmed_accounts_with_records(jane, user):
    accounts = []
    for number in range(6):
        sign_up(email=f"x{number}@example.org")
        accounts.append(User.objects.latest("id"))
    keyed, grouped, logged_in, staff, applicant, claimant = accounts
    issue(keyed)
    grouped.groups.add(Group.objects.first())
    User.objects.filter(pk=logged_in.pk).update(last_login=timezone.now())
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    ApplicationFactory(consumer=applicant)
    ClaimFactory(user=claimant)
    prune_after(400)
    assert {*User.objects.all()} == {jane, user, *accounts}


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


def test_log_in_is_case_insensitive_and_does_not_redirect_to_other_hosts(jane):
    for name in (EMAIL, "Jane@Example.org", f" {EMAIL} ", jane.username):
        assert log_in(name)[1].status_code == 302
    for wanted in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        answer = Client().post("/account/login", {"login": EMAIL, "password": PASSWORD, "next": wanted})
        assert answer.headers["Location"] == "/account/"


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
    page = browser.post(link_in(message), follow=True)
    assert page.redirect_chain[-1][0] == "/account/"
    assert "Your address is confirmed." in page.content.decode()
    assert "The address was confirmed already." in browser.get(link_in(message), follow=True).content.decode()
    assert browser.post(link_in(message)).status_code == 302
    assert User.objects.get().email == "new@example.org"
    assert EMAIL in {to for item in mailed() for to in item.to}, "the old address hears of it"
    assert log_in("new@example.org")[1].status_code == 302
    (entry,) = AccountHistory.objects.order_by("id")[entries_before:]
    assert (entry.action, entry.principal, entry.credential) == ("account.email_changed", jane, "session")


VICTIM = "victim@example.org"


@pytest.fixture
def hijacker(jane):
    """Return a browser of an account that requested a change to the victim's address."""
    browser, _ = log_in(EMAIL)
    first = browser.post("/account/email", {"email": VICTIM}).headers["Location"]
    browser.post(first, {"password": PASSWORD})
    return browser


def test_sign_up_accepts_an_address_that_another_account_has_not_confirmed(hijacker, jane):
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


def test_password_reset_ignores_accounts_that_have_not_confirmed_the_address(hijacker):
    mailed()
    Client().post("/account/password/forgot", {"email": VICTIM})
    (answer,) = mailed()
    assert "/account/password/new/" not in answer.body


def test_address_change_link_works_only_for_the_requesting_account(hijacker):
    (link,) = [link_in(mail) for mail in mailed()]
    other = UserFactory(username="other")
    browser, _ = log_in("other")
    answer = browser.post(link)
    assert (answer.status_code, "can't be answered" in answer.content.decode()) == (410, False)
    assert "<h1>This link has expired</h1>" in answer.content.decode()
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


def expired_form(path, referer):
    """Post a form without a CSRF token; return the text of the page."""
    answer = Client(enforce_csrf_checks=True).post(path, {"text": "<b>"}, headers={"Referer": referer})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (403, "no-store")
    return answer.content.decode()


def test_expired_account_form_links_to_its_page_on_this_site_and_to_the_log_in():
    for path in (
        *ENTRANCES, "/account/logout", "/account/privacy", "/my/consent", "/admin/login/", "/developers/keys",
        "/oauth/authorize", "/account/second-factor/log-in", "/account/second-factor/confirm",
        "/account/second-factor/app/add",
    ):  # fmt: skip
        page = f"http://testserver{path}"
        text = expired_form(path, page)
        assert "This form has expired" in text
        assert f'<a href="{page}">Open the page again</a>' in text
        assert 'href="/account/login"' in text
    for referer in (
        "https://evil.example/", "//evil.example", "javascript:alert(1)", "http://testserver.evil.example/", "",
        "\\\\evil.example", "http://testserver@evil.example/", "data:text/html,x", "http:///evil.example",
        "ftp://testserver/",
    ):  # fmt: skip
        assert "Open the page again" not in expired_form("/account/login", referer), referer


PASSWORD_SCRIPT = f'<script src="{static("identity/password.js")}" defer>'


def test_account_pages_are_not_cached_and_run_only_the_script_for_passwords():
    for path in (*ENTRANCES, "/account/confirm", "/account/invitation/x"):
        page = Client().get(path)
        assert page.headers["Cache-Control"] == "no-store", path
        assert set(re.findall(r"<script[^>]*>", page.content.decode())) <= {PASSWORD_SCRIPT}, path
        assert "style=" not in page.content.decode(), path
    for path in WAYS:
        assert unquote(Client().get(path).headers["Location"]) == f"/account/login?next={path}"
    assert "To apply, log in or sign up." in Client().get("/account/login?next=/my/apply/7").content.decode()
    assert "To apply" not in Client().get("/account/login?next=/my").content.decode()


@pytest.mark.parametrize("path", ENTRANCES)
def test_account_form_rejected_for_csrf_counts_toward_the_rate_limit(path, settings):
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"token": 2}
    browser = Client(enforce_csrf_checks=True)
    assert [browser.post(path).status_code for _ in range(3)] == [403, 403, 429]


class TestAccountEnumeration:
    """Known and unknown addresses get the same bytes, status and cookies, and a mail in each case."""

    def seen(self, answer):
        body = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", answer.content.decode())
        headers = {name: value for name, value in answer.headers.items() if name not in {"X-Request-Id"}}
        return answer.status_code, headers, body, sorted(answer.cookies)

    def ask(self, path, data, email):
        """Return the normalized responses of a form and its redirect, and the statements of the form."""
        browser = Client()
        with CaptureQueriesContext(connection) as captured:
            first = browser.post(path, data)
        steps = [self.seen(first)]
        if first.status_code == 302:
            steps.append(self.seen(browser.get(first.headers["Location"])))
        texts = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
        statements = sorted(re.sub(r" WHERE .*| VALUES .*|^SELECT .*? FROM ", "", text) for text in texts)
        return html.unescape(str(steps)).replace(email, "…"), statements

    @pytest.mark.parametrize(
        ("path", "field", "more"),
        [
            ("/account/signup", "email", {"password1": PASSWORD}), ("/account/password/forgot", "email", {}),
            ("/account/login", "login", {"password": "wrong"}),
        ],
    )  # fmt: skip
    def test_account_forms_do_not_reveal_whether_an_address_is_known(self, jane, path, field, more):
        known, unknown = (self.ask(path, {field: email, **more}, email) for email in (EMAIL, "june@example.org"))
        assert known == unknown
        addresses = [to for message in mailed() for to in message.to]
        assert addresses == ([] if field == "login" else [EMAIL, "june@example.org"])

    def test_request_for_another_confirmation_does_not_reveal_whether_an_address_is_known(self, jane):
        results = []
        for email in (EMAIL, "june@example.org"):
            browser = Client()
            sign_up(browser, email=email)
            browser.get("/account/confirm")
            with CaptureQueriesContext(connection) as captured:
                steps = [self.seen(browser.post("/account/confirm")), self.seen(browser.get("/account/confirm"))]
            results.append((html.unescape(str(steps)).replace(email, "…"), len(captured)))
        assert results[0] == results[1]
        links = sorted((message.to[0], link_in(message).split("/")[2]) for message in mailed())
        assert links == [(EMAIL, "password")] * 2 + [("june@example.org", "confirm")] * 2

    def test_sign_up_with_a_known_address_also_computes_a_password_hash(self, jane, settings):
        from tests.identity.test_log_in_limits import CountingHasher

        settings.PASSWORD_HASHERS = ["tests.identity.test_log_in_limits.CountingHasher"]
        counts = []
        for email in (EMAIL, "june@example.org"):
            before = CountingHasher.count
            sign_up(email=email)
            counts.append(CountingHasher.count - before)
        assert counts[0] == counts[1] == 1

    def test_sign_ups_and_mails_of_an_address_are_rate_limited(self, jane):
        answers = [sign_up(email=f"x{number}@example.org").status_code for number in range(21)]
        assert answers == [302] * 20 + [429]
        status_codes = [Client().post("/account/password/forgot", {"email": EMAIL}).status_code for _ in range(12)]
        assert status_codes[-1] == 429


def test_name_change_of_an_account_is_recorded_in_the_account_history(jane):
    browser = session_of(jane)
    assert 'href="/account/name"' in browser.get("/account/").content.decode()
    for invalid in ("", "  ", "Car\u202emen", "x" * 151, "a\x00b"):
        assert browser.post("/account/name", {"first_name": invalid}).status_code == 200
        assert not User.objects.exclude(first_name="").exists(), invalid
    answer = browser.post("/account/name", {"first_name": " Carmen ", "last_name": "de  la Cruz"})
    assert answer.headers["Location"] == "/account/"
    assert "<bdi>Carmen de la Cruz</bdi>" in browser.get("/account/").content.decode()
    assert 'value="Carmen"' in browser.get("/account/name").content.decode()
    assert AccountHistory.objects.get(action="account.name_changed").account == jane


def test_partner_cannot_change_the_name_that_customers_see(jane):
    jane.groups.add(Group.objects.get(name="Partner"))
    browser = session_of(jane)
    assert "/account/name" not in browser.get("/account/").content.decode()
    for method in (browser.get, browser.post):
        assert method("/account/name", {"first_name": "Bank"}).status_code == 403


def test_the_back_office_redirects_to_the_account_log_in(user):
    answer = Client().get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0] == "/account/login?next=/admin/"
    UserFactory(username="boss", is_staff=True, is_superuser=True)
    _, came = log_in("boss", browser=Client(), QUERY_STRING="")
    assert came.status_code == 302
    stranger, _ = log_in(user.username)
    assert stranger.get("/admin/", follow=True).status_code == 403


def test_log_in_page_has_the_email_address_first_and_the_log_in_of_staff_last(client, settings):
    settings.SIGN_UP, settings.STAFF_OIDC = "open", object()
    page = client.get("/account/login").content.decode()
    texts = ("Email address or user name", ">Password<", "Show password", "Forgot your password?", "No account yet?")
    places = [page.index(text) for text in (*texts, "Staff: log in with single sign-on")]
    assert places == sorted(places)


def test_page_that_requires_the_password_again_does_not_mention_an_identity_check(client, user):
    client.force_login(user)
    page = client.get("/account/reauthenticate").content.decode()
    assert "Confirm that it's you" in page
    assert "your identity" not in page
