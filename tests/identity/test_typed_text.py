"""Test that form input of an expired session is restored to the same user after the next log-in."""

import re
from html import unescape

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from credit.models import Application
from tests.backoffice.conftest import staff_of
from tests.backoffice.test_applications import make, move_of
from tests.credit.terms.lending import applied, listed
from tests.factories import UserFactory
from tests.identity.test_account_pages import log_in

pytestmark = pytest.mark.django_db
REASON = 'Income is stated twice.\r\nSee <b>page 2</b> & "page 3".'
MOVED = {"reason": REASON, "seen": "x", "documents": "Payslip of May\r\n給与明細"}


@pytest.fixture
def person():
    return staff_of("Reviewer", username="rita")


@pytest.fixture
def form():
    return move_of(make(), "pending_documents")


def sent_too_late(person, path, fields):
    """Log in, end the session, and send a form; return the browser, which is redirected to the log-in."""
    browser, _ = log_in(person.username)
    Session.objects.all().delete()
    del browser.cookies["sessionid"]
    answer = browser.post(path, fields)
    assert answer.status_code == 302
    assert "/account/login" in answer.headers["Location"] or "/admin/login/" in answer.headers["Location"]
    return browser


def test_form_input_of_the_console_is_restored_after_the_log_in(person, form):
    browser = sent_too_late(person, form, MOVED)
    _, answer = log_in(person.username, browser=browser, QUERY_STRING=f"next={form}")
    assert answer.headers["Location"] == form
    page = browser.get(form)
    shown = unescape(page.content.decode())
    assert "the form was not sent" in shown
    assert REASON in shown
    assert "給与明細" in shown
    assert page.headers["Cache-Control"] == "no-store"
    assert browser.get(form + "?discard").headers["Location"] == form
    discarded = browser.get(form)
    assert "Income is stated" not in discarded.content.decode()
    seen = discarded.context["form"]["seen"].value()
    browser = sent_too_late(person, form, {**MOVED, "seen": seen})
    log_in(person.username, browser=browser)
    fields = {field["name"]: field["value"] for field in browser.get(form).context["fields"]}
    assert fields == {**MOVED, "seen": seen}
    moved = browser.post(form, fields, follow=True)
    assert "pending documents" in moved.content.decode()
    assert "the form was not sent" not in browser.get(form, follow=True).content.decode()


def test_form_input_is_not_restored_for_another_user_of_the_browser(person, form):
    browser = sent_too_late(person, form, MOVED)
    other = staff_of("Reviewer", username="otto")
    log_in(other.username, browser=browser)
    assert "Income is stated" not in browser.get(form, follow=True).content.decode()
    assert "typed_text" not in browser.session
    log_in(person.username, browser=browser)
    assert "Income is stated" not in browser.get(form, follow=True).content.decode()


def test_form_input_of_account_pages_is_restored_after_the_log_in():
    person = UserFactory()
    for path in ("/my/applications/01990000-0000-7000-8000-000000000000", "/my/consent", "/developers/keys"):
        browser = sent_too_late(person, path, {"statement": "I have a raise since May.", "do": "ask_again"})
        log_in(person.username, browser=browser)
        page = browser.get(path).content.decode()
        assert "I have a raise since May." in page
        assert '<input type="hidden" name="do" value="ask_again">' in page
        if path == "/my/consent":
            spanish = browser.get(path, headers={"Accept-Language": "es-MX"}).content.decode()
            assert "Su texto está guardado" in spanish


@pytest.mark.parametrize(("path", "fields"), [
    ("/account/name", {"first_name": "Omar", "last_name": "Diaz"}),
    ("/my/applications/01990000-0000-7000-8000-000000000000", {"statement": "Wrong", "do": "ask_again"}),
])  # fmt: skip
def test_text_field_values_of_a_single_word_are_restored_after_the_log_in(path, fields):
    person = UserFactory()
    browser = sent_too_late(person, path, fields)
    log_in(person.username, browser=browser)
    page = browser.get(path)
    texts = [field["value"] for field in page.context["fields"] if field["is_text"]]
    assert texts == [value for name, value in fields.items() if name != "do"]
    assert "first name" not in page.content.decode()
    assert "Send this text" in page.content.decode()


def test_application_form_input_is_restored_after_the_log_in():
    person = UserFactory()
    offer = listed()
    new, draft = f"/my/apply/{offer.pk}", applied(offer, consumer=person, status="draft", submitted_at=None)
    for path in (new, f"/my/applications/{draft.pk}/edit"):
        sent = {
            "first-legal_name": "Omar",
            "first-address.line1": "Broadway",
            "do": "check",
            "csrfmiddlewaretoken": "x",
        }
        browser = sent_too_late(person, path, sent)
        log_in(person.username, browser=browser)
        shown = browser.get(path).content.decode()
        assert "so the form was not sent" in shown
        assert re.search(r'name="first-legal_name"[^>]* value="Omar"|value="Omar"[^>]* name="first-legal_name"', shown)
        assert 'value="Broadway"' in shown
        assert "Omar" not in browser.get(f"{path}?discard", follow=True).content.decode()
        assert Application.objects.count() == 1
        browser = sent_too_late(person, path, sent)
        other = log_in(UserFactory().username, browser=browser)[0]
        assert "Omar" not in other.get(path, follow=True).content.decode()


@pytest.mark.parametrize(("path", "names"), [
    ("/account/password", ("oldpassword", "password1", "code")),
    ("/admin/password_change/", ("old_password", "new_password1", "new_password2")),
])  # fmt: skip
def test_passwords_and_codes_are_not_stored_as_form_input(path, names):
    person = staff_of("Reviewer")
    fields = {**dict.fromkeys(names, "four words and blanks"), "csrfmiddlewaretoken": "x y"}
    browser = sent_too_late(person, path, fields)
    assert "typed_text" not in browser.session


def test_restored_form_input_is_deleted_only_after_the_form_is_accepted():
    person = UserFactory()
    browser = sent_too_late(person, "/my/consent", {"statement": "I have a raise since May."})
    log_in(person.username, browser=browser)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    assert strict.post("/my/consent", {"statement": "again"}).status_code == 403
    assert "I have a raise since May." in browser.get("/my/consent").content.decode()


def test_empty_or_oversized_form_input_and_button_values_are_not_stored(person, form):
    for fields in (
        {}, {"reason": ""}, {"reason": "x " * 50_001}, {"documents": " ", "seen": "0" * 64}, {"do": "end 01990000"},
    ):  # fmt: skip
        assert "typed_text" not in sent_too_late(person, form, fields).session
    never_logged_in = Client()
    assert never_logged_in.post(form, MOVED).status_code == 302
    assert "typed_text" not in never_logged_in.session


def test_pages_show_a_warning_before_the_session_expires():
    person = UserFactory(is_staff=True, is_superuser=True)
    browser, _ = log_in(person.username)
    for path in ("/account/", "/my", "/developers/keys", "/admin/"):
        assert 'class="session-ends"' in browser.get(path).content.decode()


def test_log_in_page_states_that_the_session_ended_and_the_text_is_saved(person, form):
    saved, ended = (
        "Your session has ended. Your text is saved. Log in to send it.",
        "Your session has ended. Log in again.",
    )
    browser = sent_too_late(person, form, MOVED)
    assert saved in browser.get("/account/login").content.decode()
    browser, _ = log_in(person.username)
    del browser.cookies["sessionid"]
    page = browser.get("/my", HTTP_REFERER="http://testserver/my/apply", HTTP_ACCEPT_LANGUAGE="es-US", follow=True)
    assert "Su sesión terminó. Inicie sesión de nuevo." in page.content.decode()
    assert "session has ended" not in browser.get("/my", follow=True).content.decode(), "a visit from elsewhere"
    assert ended not in Client().get("/my", HTTP_REFERER="http://testserver/", follow=True).content.decode()
