"""Test that mail is queued in the transaction of its cause and sent by `deliver_mail`."""

import io
import json
import smtplib
from datetime import timedelta

import pytest
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.backends.base import BaseEmailBackend
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from config.mail.delivery import message_of
from config.mail.environment import email_backend
from config.mail.models import FAILED, PENDING, SENT, OutgoingMail
from config.mail.outbox import queue_mail, queue_requested_mail
from config.ops.pruning import prune
from tests.config.test_doctor import why

pytestmark = pytest.mark.django_db
TO, LINK = "jane@example.org", "https://api.example/account/invitation/abc?x=1&y=2"


class Outage(BaseEmailBackend):
    """A mail server with configurable responses, one per mail; None is success."""

    answers = []
    seen = []

    def send_messages(self, email_messages):
        """Record the recipients; raise the next response unless it is None."""
        answer = Outage.answers.pop(0)
        Outage.seen += [message.to for message in email_messages]
        if answer is not None:
            raise answer
        return 1


@pytest.fixture
def answering(settings):
    """Return a function that sets the responses of the mail server."""
    settings.EMAIL_BACKEND = f"{__name__}.Outage"

    def answer(*answers):
        Outage.answers, Outage.seen = list(answers), []

    return answer


def queue(to=TO, *, now=None, **options):
    return queue_mail(to, "invitation", {"link": LINK}, now=now or timezone.now(), **options)


def deliver():
    out = io.StringIO()
    call_command("deliver_mail", "--once", "--json", stdout=out)
    return json.loads(out.getvalue())


def stored(column):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM mail_outgoingmail")
        return [row[0] for row in cursor.fetchall()]


def test_queued_mail_is_stored_encrypted_and_sent_once_as_text_and_html():
    queue()
    assert TO not in stored("recipient")[0]
    assert LINK not in stored("context")[0]
    assert deliver() == {"sent": 1, "retried": 0, "failed": 0}
    assert deliver() == {"sent": 0, "retried": 0, "failed": 0}
    assert OutgoingMail.objects.get().context == "", "a link that was sent stands in the mailbox alone"
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == ([TO], "You are invited to Credit Platform")
    assert f"\n\n{LINK}\n\n" in sent.body
    html, kind = sent.alternatives[0]
    assert kind == "text/html"
    assert f'href="{LINK.replace("&", "&amp;")}"' in html
    assert sent.extra_headers["Auto-Submitted"] == "auto-generated"


def test_queued_mail_is_rolled_back_with_its_transaction():
    with transaction.atomic():
        queue()
        transaction.set_rollback(True)
    assert deliver()["sent"] == 0


@pytest.mark.parametrize("language", ["en", "de", "xx"])
def test_mail_escapes_html_and_uses_the_fallback_of_an_untranslated_language(language):
    message = message_of(to=TO, template="invitation", context={"link": "<b>x</b>"}, language=language)
    assert f'<html lang="{language}">' in message.alternatives[0][0]
    assert "<b>x</b>" in message.body
    assert "<b>" not in message.alternatives[0][0]


def test_temporary_mail_rejection_is_retried(answering):
    for error in (
        OSError("away"), smtplib.SMTPServerDisconnected("gone"), smtplib.SMTPAuthenticationError(535, b"no"),
        smtplib.SMTPRecipientsRefused({TO: (451, b"later")}), smtplib.SMTPDataError(452, b"full"),
        KeyError("an adapter's own"),
    ):  # fmt: skip
        pk = queue().pk
        answering(error)
        assert deliver()["retried"] == 1, error
        row = OutgoingMail.objects.get(pk=pk)
        assert (row.status, row.attempts, row.last_error, row.claim) == (PENDING, 1, type(error).__name__, None)
        assert row.due_at > timezone.now() + timedelta(seconds=4)
        OutgoingMail.objects.filter(pk=pk).update(due_at=timezone.now())
        answering(None)
        assert deliver()["sent"] == 1, error


@pytest.mark.parametrize(
    ("attempts", "error"),
    [(0, smtplib.SMTPRecipientsRefused({TO: (550, b"no")})), (0, smtplib.SMTPDataError(554, b"no")), (9, OSError())],
)
def test_mail_fails_at_a_permanent_rejection_or_the_end_of_its_retry_schedule(answering, attempts, error, caplog):
    queue()
    OutgoingMail.objects.update(attempts=attempts)
    answering(error)
    assert deliver()["failed"] == 1
    assert OutgoingMail.objects.get().status == FAILED
    assert TO not in caplog.text


def test_unreadable_mail_does_not_stop_other_mails(settings):
    queue()
    wrong, good = queue("b@example.org"), queue("c@example.org")
    OutgoingMail.objects.filter(pk=wrong.pk).update(template="no-such")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE mail_outgoingmail SET recipient = 'x' WHERE template = 'invitation'")
    good.save(update_fields=["recipient"])
    assert deliver() == {"sent": 1, "retried": 2, "failed": 0}
    assert [message.to for message in mail.outbox] == [["c@example.org"]]


def test_mails_of_a_dead_worker_are_sent_after_its_lease_expires():
    row = queue()
    OutgoingMail.objects.update(claim=row.pk, due_at=timezone.now() + timedelta(minutes=4))
    assert deliver()["sent"] == 0
    OutgoingMail.objects.update(due_at=timezone.now())
    assert deliver()["sent"] == 1


def test_mail_worker_resuming_after_its_lease_changes_nothing(answering):
    row = queue()

    class Late(list):
        def pop(self, _at):
            OutgoingMail.objects.update(claim=row.pk)  # Another worker has this claim.
            return OSError()

    answering()
    Outage.answers = Late([1])
    deliver()
    assert OutgoingMail.objects.get().claim == row.pk


def test_recipient_in_any_spelling_is_limited_to_10_requested_mails_an_hour():
    spellings = ["Jane@example.org" if number % 2 else " jane@EXAMPLE.org" for number in range(12)]
    created = [queue_requested_mail(to, "invitation", {"link": LINK}, now=timezone.now()) for to in spellings]
    assert [item is not None for item in created] == [True] * 10 + [False] * 2
    assert queue_requested_mail("other@example.org", "invitation", {"link": LINK}, now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT bucket FROM api_ratecounter")
        assert "jane" not in str(cursor.fetchall())


def test_mails_requested_by_a_stranger_do_not_delay_mails_about_the_recipients_own_records():
    now = timezone.now()
    for _ in range(12):
        queue_requested_mail(TO, "password_reset", {"link": LINK}, now=now)
    assert queue(now=now).due_at == now


def test_mails_about_own_records_above_the_limit_are_sent_10_in_each_later_hour(settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail_own": 10}
    now = timezone.now()
    hours = [(queue(now=now).due_at - now) / timedelta(hours=1) for _ in range(23)]
    assert hours == [0] * 10 + [1] * 10 + [2] * 3


def test_finished_mails_are_deleted_after_a_month():
    for days, status in ((31, SENT), (31, PENDING), (29, FAILED)):
        row = queue(f"{days}{status}@example.org", now=timezone.now() - timedelta(days=days))
        due_at = timezone.now() if status == PENDING else None
        OutgoingMail.objects.filter(pk=row.pk).update(status=status, due_at=due_at)
    assert prune(now=timezone.now())["mails"] == 1


def test_production_without_a_mail_server_stores_mail_and_warns(settings):
    settings.EMAIL_BACKEND = ""
    queue()
    assert deliver()["sent"] == 0
    assert OutgoingMail.objects.get().status == PENDING
    assert "EMAIL_URL is unset" in why("mail")


def test_development_shows_sent_mails_on_a_page(settings, tmp_path, capsys):
    settings.EMAIL_BACKEND, settings.VAR_DIR = "config.mail.development.EmailBackend", tmp_path
    queue()
    deliver()
    assert LINK in capsys.readouterr().err
    page = Client().get("/dev/mail")
    assert page.status_code == 200
    assert LINK.replace("&", "&amp;") in page.content.decode()


@pytest.mark.parametrize(
    ("url", "port", "ssl", "starttls"),
    [
        ("smtps://me:s%40x@mail.example", 465, True, False),
        ("smtp://me:s%40x@mail.example", 587, False, True),
        ("smtp://me:s%40x@127.0.0.1:2525", 2525, False, False),
    ],
)
def test_email_url_configures_a_mail_server(monkeypatch, url, port, ssl, starttls):
    monkeypatch.setenv("EMAIL_URL", url)
    backend, options = email_backend("EMAIL_URL", default="")
    assert backend.endswith("smtp.EmailBackend")
    assert (options["port"], options["use_ssl"], options["use_tls"]) == (port, ssl, starttls)
    assert (options["username"], options["password"]) == ("me", "s@x")


def test_email_url_can_select_any_django_backend(monkeypatch):
    monkeypatch.setenv("EMAIL_URL", f"backend:{__name__}.Outage?api_key=k")
    assert email_backend("EMAIL_URL", default="") == (f"{__name__}.Outage", {"api_key": "k"})


@pytest.mark.parametrize(
    "url", ["mail.example", "http://mail.example", "smtp://", "smtp://u:secret@h:x", "smtp://h/p", "backend:no.such"]
)
def test_error_for_an_invalid_email_url_omits_the_password(monkeypatch, url):
    monkeypatch.setenv("EMAIL_URL", url)
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL") as refused:
        email_backend("EMAIL_URL", default="")
    assert "secret" not in str(refused.value)
