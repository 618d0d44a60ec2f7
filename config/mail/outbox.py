"""The queue of outgoing mails.

Call these functions in the transaction that causes the mail. Two kinds of mails have separate hourly limits: mails that
a stranger can request for an address, and mails about an account's own records. Otherwise, a stranger could use up the
limit of an applicant, who would get no mail about a decision.
"""

import json
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac
from django.utils.translation import get_language

from config.api.rate_limits import RateLimited, consume_singly
from config.core.encryption import blind_digests
from config.mail.addresses import comparable, mailable
from config.mail.models import PENDING, OutgoingMail


def queue_mail(
    to: str, template: str, context: dict[str, Any], *, language: str | None = None, now: datetime
) -> OutgoingMail:
    """Queue a mail about the recipient's own account or application.

    Above the hourly limit of the recipient, the mail is sent in a later hour. `language` is by default the language of
    the page, or English for the API. `context` must be serializable as JSON.
    """
    due_at = now
    if not _has_permit("mail_own", to):
        due_at += timedelta(hours=1 + _delayed(to, now) // (settings.RATE_LIMITS["mail_own"] or 1))
    return _queue(to, template, context, language=language, due_at=due_at, now=now)


def queue_requested_mail(
    to: str, template: str, context: dict[str, Any], *, named_by: int | None = None, now: datetime
) -> OutgoingMail | None:
    """Queue a mail that a caller can request for any address. Return None above the hourly limit of the recipient.

    The API's response must be the same in both cases (account enumeration). If another user exhausts the limit, the
    links in the delivered mails still work.

    `named_by` is the ID of the account that entered the address. Raises RateLimited if this account has entered too
    many addresses in this hour. `context` must be serializable as JSON.
    """
    if named_by is not None:
        consume_singly("mail_account", str(named_by))
    if not _has_permit("mail_recipient", to):
        return None
    return _queue(to, template, context, language=None, due_at=now, now=now)


def _has_permit(limit: str, to: str) -> bool:
    """Consume a permit of a limit for the recipient. Return False if no permits remain."""
    # The name of the counter must not reveal the address.
    digest = salted_hmac("config.mail.recipient", comparable(to), algorithm="sha256").hexdigest()
    try:
        consume_singly(limit, digest)
    except RateLimited:
        return False
    return True


def _delayed(to: str, now: datetime) -> int:
    return OutgoingMail.objects.filter(recipient_index__in=index_of(to), status=PENDING, due_at__gt=now).count()


def _queue(
    to: str, template: str, context: dict[str, Any], *, language: str | None, due_at: datetime, now: datetime
) -> OutgoingMail:
    return OutgoingMail.objects.create(
        recipient=mailable(to),
        recipient_index=index_of(to)[0],
        template=template,
        context=json.dumps(context),
        language=language or (get_language() or "en")[:2],
        due_at=due_at,
        created_at=now,
    )


def index_of(recipient: str) -> list[str]:
    """Return the blind index of an address for each key. The first index is stored. Searches use all indexes."""
    return blind_digests(f"mail:{comparable(recipient)}")
