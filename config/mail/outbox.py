"""The queue of outgoing mails.

Call `queue_mail` in the transaction that causes the mail.
"""

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
    """Queue a mail. Return None if the recipient has reached the hourly limit of mails.

    The API's response must be the same in both cases (account enumeration). If another user exhausts the limit, the
    links in the delivered mails still work.

    `language` is by default the language of the page, or English for the API. `named_by` is the ID of the account that
    entered the address. Raises RateLimited if this account has entered too many addresses in this hour. `context` must
    be serializable as JSON.
    """
    if named_by is not None:
        consume_singly("mail_account", str(named_by))
    try:
        # The name of the counter must not reveal the address.
        consume_singly(
            "mail_recipient", salted_hmac("config.mail.recipient", comparable(to), algorithm="sha256").hexdigest()
        )
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
    """Return the blind index of an address for each key. The first index is stored. Searches use all indexes."""
    return blind_digests(f"mail:{comparable(recipient)}")
