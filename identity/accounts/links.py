"""One-time links in mails: each works once, for its purpose, its address and its time.

Following one shows a page with a button and changes nothing: programs that scan mail follow links, too. The token is in
the link alone; the table holds its SHA-256.
"""

import secrets
from datetime import datetime, timedelta

from config.core.digest import digest_of
from config.core.encryption import UnreadableSecret
from config.mail.addresses import comparable
from identity.accounts.models import OneTimeLink

TOKEN_BYTES = 32


class LinkEnded(Exception):
    """The link is unknown, used, expired, of another purpose or address, or its action is no longer possible: the
    answer does not distinguish them.
    """


def make_link(purpose: str, *, email: str, subject: str = "", lasts: timedelta, now: datetime) -> str:
    """Make a link for the reader of the mail at `email`, and return its token; `subject` is the id of its record.

    The token is in no other place: put it into a mail in the same transaction.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    OneTimeLink.objects.create(
        digest=digest_of(token), purpose=purpose, email=email, subject=subject, created_at=now, expires_at=now + lasts
    )
    return token


def find_link(token: str, purpose: str, *, now: datetime) -> OneTimeLink:
    """Return what a link is for, without using it: for the page with the button. Raises LinkEnded."""
    row = OneTimeLink.objects.usable_at(now).filter(digest=digest_of(token), purpose=purpose).first()
    if row is None:
        raise LinkEnded
    return row


def use_link(token: str, purpose: str, *, email: str | None = None, now: datetime) -> OneTimeLink:
    """Use a link up, in the transaction of what it lets happen; of two who do so at once one raises LinkEnded.

    With `email` it must be the address that the link was sent to.
    """
    row = find_link(token, purpose, now=now)
    try:
        is_theirs = email is None or comparable(row.email) == comparable(email)
    except UnreadableSecret:
        is_theirs = False
    if not is_theirs or not OneTimeLink.objects.usable_at(now).filter(pk=row.pk).update(used_at=now):
        raise LinkEnded
    return row


def end_links(purpose: str, *, subject: str, now: datetime) -> int:
    """End what links of this purpose there are about a thing, and return how many."""
    return OneTimeLink.objects.usable_at(now).filter(purpose=purpose, subject=subject).update(used_at=now)
