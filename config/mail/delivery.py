"""Claim due mails, send them to the mail server, and store the outcomes.

If a worker dies after the server's response and before the commit, the mail is sent again after the lease.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from smtplib import SMTPDataError, SMTPRecipientsRefused
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db.models import QuerySet
from django.template import Context, Engine, TemplateDoesNotExist
from django.template.loader import render_to_string
from django.utils import timezone, translation

from config.core.encryption import sealed_values
from config.core.leases import claim_due, contain, update_each
from config.core.registration import declared
from config.core.retries import next_delay
from config.mail.models import FAILED, PENDING, SENT, OutgoingMail
from config.ops.failed_items import FailedItems, read_each

BATCH = 20
# A slow server may use EMAIL_TIMEOUT for each response. After half of the lease, unsent mails return to the queue.
LEASE = timedelta(minutes=4)
FAILURES_MAX = 10  # the maximum attempts if a mail is unreadable, or its outcome can't be stored
KEEP = timedelta(days=30)  # support can check within this time whether a mail was sent

logger = logging.getLogger("platform.mail")


def deliver_some(*, now: datetime) -> dict[str, int]:
    """Send at most BATCH due mails. Return the number of mails for each outcome.

    Without a mail server, mails stay pending.
    """
    counts: Counter[str] = Counter(sent=0, retried=0, failed=0)
    if not settings.EMAIL_BACKEND:
        return dict(counts)
    # The `WorkMark` of a batch expires before the lease of its mails. So `review` finds suspects before the mails are
    # due again.
    pending = OutgoingMail.objects.filter(status=PENDING)
    items = FailedItems("mail", pending, lease=LEASE * 7 / 8, failures_max=FAILURES_MAX)
    items.review(now=now)
    # After the batch, send at most one suspect mail (see `config.ops.failed_items`).
    for rows, limit in ((items.takeable(now=now), BATCH), (pending.filter(pk__in=items.suspects(now=now)), 1)):
        claimed = claim_due(rows, limit=limit, now=now, lease=LEASE)
        if mails := read_each(claimed.order_by("pk"), partial(items.fail, now=now)):
            with items.mark([mail.pk for mail in mails]):
                _send(mails, items, counts)
    return dict(counts)


def _send(mails: Sequence[OutgoingMail], items: FailedItems[OutgoingMail], counts: Counter[str]) -> None:
    """Send mails over one connection, and reconnect after an error. After half of LEASE, requeue unsent mails."""
    connection: Any = None
    ends_at = time.monotonic() + LEASE.total_seconds() / 2
    for at, mail in enumerate(mails):
        if time.monotonic() > ends_at:
            rows = [(left.pk, left.claim, timezone.now(), None) for left in mails[at:]]
            update_each(OutgoingMail, match=["id", "claim"], change=["due_at", "claim"], rows=rows)
            break
        fault: Exception | None = None
        try:
            connection = connection or _opened()
            maker = dict(declared("mail_makers")).get(mail.template)
            template, context = maker(mail.recipient) if maker else (mail.template, json.loads(mail.context))
            message = message_of(
                to=mail.recipient, template=template, context=context, language=mail.language, connection=connection
            )
            if message.send() == 0:
                fault = ValueError("the mail has no recipient")
        except Exception as error:  # noqa: BLE001  adapters raise their own errors, and a failed mail must not stop other mails
            fault = error
            _close(connection)
            connection = None
        with items.attempt(mail.pk, now=timezone.now()):
            counts[_store(mail, fault)] += 1
    _close(connection)


def message_of(
    *, to: str, template: str, context: dict[str, Any], language: str, connection: Any = None
) -> EmailMultiAlternatives:
    """Return the mail in `language`. Untranslated texts are in English. Raises TemplateDoesNotExist.

    The first line of `mail/NAME.txt` is the subject. The HTML is generated from the text. A URL on a separate line
    becomes a link.
    """
    with translation.override(language):
        facts = {"provider_name": settings.PROVIDER_NAME, **context}
        # The HTML is generated from this text, and escaped later.
        content = Engine.get_default().get_template(f"mail/{template}.txt").render(Context(facts, autoescape=False))
        subject, _, text = content.strip().partition("\n")
        text = text.strip() + "\n"
        html = render_to_string("mail/message.html", {"subject": subject, "text": text, "language": language, **facts})
    message = EmailMultiAlternatives(
        subject.strip(),
        text,
        to=[to],
        connection=connection,
        # These headers prevent automatic replies (RFC 3834) and read receipts.
        headers={"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"},
    )
    message.attach_alternative(html, "text/html")
    return message


def subject_of(template: str) -> str:
    """Return the English subject of a mail. If no template has this name, return the name in words."""
    facts = Context({"provider_name": settings.PROVIDER_NAME}, autoescape=False)
    with translation.override("en"):
        try:
            mail = Engine.get_default().get_template(f"mail/{template}.txt")
        except TemplateDoesNotExist:
            return template.replace("_", " ").capitalize()
        return str(mail.render(facts)).strip().partition("\n")[0].strip()


def _opened() -> Any:
    connection = get_connection(**settings.EMAIL_OPTIONS)
    connection.open()
    return connection


def _close(connection: Any) -> None:
    try:
        if connection is not None:
            connection.close()
    except OSError:
        pass  # the server closed the connection first
    except Exception as error:  # noqa: BLE001  adapters raise their own errors
        contain(error, "mail connection", "close")


def _store(mail: OutgoingMail, error: Exception | None) -> str:
    """Store the outcome of an attempt and return it. If another worker has claimed the mail, store nothing."""
    attempts, now = mail.attempts + 1, timezone.now()
    if error is None:
        status, due_at = SENT, None
    else:
        delay = None if _is_final(error) else next_delay(attempts)
        status, due_at = (FAILED, None) if delay is None else (PENDING, now + delay)
        # The server's message contains the address, so it is not logged.
        logger.warning("mail %s (%s) was not sent: %s", mail.pk, mail.template, type(error).__name__)
    changes = {"attempts": attempts, "status": status, "due_at": due_at, "claim": None}
    if status != PENDING:
        changes |= sealed_values(mail, context="")  # deletes the links in the mail
    current = OutgoingMail.objects.filter(pk=mail.pk, claim=mail.claim)
    current.update(**changes, last_error="" if error is None else type(error).__name__[:64])
    return {SENT: "sent", FAILED: "failed", PENDING: "retried"}[status]


def _is_final(error: Exception) -> bool:
    """Return whether the server has rejected the mail permanently (status 5yz, RFC 5321, 4.2.1)."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _text in error.recipients.values())
    return isinstance(error, SMTPDataError) and error.smtp_code >= 500


def _over(now: datetime) -> QuerySet[OutgoingMail]:
    return OutgoingMail.objects.exclude(status=PENDING).filter(created_at__lt=now - KEEP)


PRUNE_RULES = {"mails": _over}


def check_mail(**_options: Any) -> list[checks.CheckMessage]:
    if not settings.EMAIL_BACKEND:
        text = "EMAIL_URL is unset: no mail is sent, so confirmations, invitations and password resets don't arrive"
        return [checks.Warning(text)]
    return [checks.Info(f"by {settings.EMAIL_OPTIONS.get('host', settings.EMAIL_BACKEND)}")]
