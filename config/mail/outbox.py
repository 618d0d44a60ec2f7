"""Code that causes a mail calls `queue_mail` in its own transaction: both happen, or neither."""

import json
from datetime import datetime
from typing import Any

from django.utils.crypto import salted_hmac
from django.utils.translation import get_language

from config.api.rate_limits import RateLimited, consume_singly
from config.core.encryption import blind_digests
from config.mail.addresses import comparable, mailable
from config.mail.models import OutgoingMail


def queue_mail(
    to: str,
    template: str,
    context: dict[str, Any],
    *,
    language: str | None = None,
    named_by: int | None = None,
    now: datetime,
) -> OutgoingMail | None:
    """Write a mail to be sent; None when this recipient has been written to too often in this hour.

    The response is the same in both cases, so that it does not reveal known addresses. Mails that another person
    requested lock no one out: they are in the recipient's mailbox, and their links work.

    Without `language`, the mail is in the language of the page that caused it, and in English for the API.

    `named_by` is the id of the account whose call names the address. Raises RateLimited, which that caller gets, if
    the account has named too many addresses in this hour. `context` is JSON: links and names of ours.
    """
    if named_by is not None:
        consume_singly("mail_account", str(named_by))
    try:
        consume_singly("mail_recipient", _name_of(to))
    except RateLimited:
        return None
    return OutgoingMail.objects.create(
        recipient=mailable(to),
        recipient_index=index_of(to)[0],
        template=template,
        context=json.dumps(context),
        language=language or (get_language() or "en")[:2],
        due_at=now,
        created_at=now,
    )


def index_of(recipient: str) -> list[str]:
    """Return the blind index of an address: stored with the first key, and searched for all."""
    return blind_digests(f"mail:{comparable(recipient)}")


def _name_of(recipient: str) -> str:
    """Return a name for the counter that does not reveal the address."""
    return salted_hmac("config.mail.recipient", comparable(recipient), algorithm="sha256").hexdigest()
