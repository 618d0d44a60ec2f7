"""Mailed links that work once. Each link is for one purpose and one address, and expires.

Opening a link displays a page with a button, and changes nothing, because mail scanners also open links. Only the link
contains the token. The table stores the token's SHA-256.
"""

import secrets
from datetime import datetime, timedelta

from config.core.digest import digest_of
from config.core.encryption import UnreadableSecret
from config.mail.addresses import comparable
from identity.accounts.models import OneTimeLink


class LinkEnded(Exception):
    """The link is unknown, used, expired, or for another purpose or address, or its action is impossible.

    The response does not distinguish these causes.
    """


def make_link(purpose: str, *, email: str, subject: str = "", lasts: timedelta, now: datetime) -> str:
    """Create a link for a mail to `email`, and return the token. `subject` is the id of the link's record.

    The token is not stored. Queue the mail with the token in the same transaction.
    """
    token = secrets.token_urlsafe(32)
    OneTimeLink.objects.create(
        digest=digest_of(token), purpose=purpose, email=email, subject=subject, created_at=now, expires_at=now + lasts
    )
    return token


def find_link(token: str, purpose: str, *, now: datetime) -> OneTimeLink:
    """Return the row of a link without using the link. Raises LinkEnded."""
    row = OneTimeLink.objects.usable_at(now).filter(digest=digest_of(token), purpose=purpose).first()
    if row is None:
        raise LinkEnded
    return row


def use_link(token: str, purpose: str, *, email: str | None = None, now: datetime) -> OneTimeLink:
    """Use a link in the transaction of its action. If two uses are concurrent, one of them raises LinkEnded.

    With `email`, the link must have been sent to that address.
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
    """End all valid links of this purpose for a record. Return their number."""
    return OneTimeLink.objects.usable_at(now).filter(purpose=purpose, subject=subject).update(used_at=now)
