"""Comparison, confirmation, and changes of email addresses.

An address is only used after its owner has confirmed it.
"""

from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse

from config.core.digest import digest_of
from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor
from config.mail.addresses import comparable, normalize
from config.mail.outbox import queue_mail, queue_requested_mail
from identity.access.models import AccountHistory, User
from identity.accounts.links import LinkEnded, end_links, make_link, use_link
from identity.accounts.models import OneTimeLink
from identity.accounts.security_mails import mail_about_change

ADDRESS_MAX = 254  # the maximum length of an email address: RFC 5321 allows 256 characters with angle brackets
CHANGE = "address"


def check_address(email: str) -> str:
    """Normalize an address. Raises ValidationFailed if the address is not valid."""
    try:
        return normalize(email)
    except ValidationError as error:
        raise ValidationFailed.of_member("email", "Enter a valid email address.") from error


def is_named(user: User, email: str) -> bool:
    return bool(user.email) and comparable(user.email) == comparable(email)


def owns(user: User, email: str) -> bool:
    return bool(EmailAddress.objects.filter(user=user, email__iexact=comparable(email), verified=True).exists())


def is_set_by_operator(user: User, email: str) -> bool:
    """Check whether an operator set this address and the account has not changed it."""
    return is_named(user, email) and not EmailAddress.objects.filter(user=user).exists()


def accounts_with(email: str) -> list[User]:
    """Return the active accounts with an address. Accounts that have confirmed the address come first.

    Unconfirmed addresses are included for accounts whose address an operator set, and for a sign-up before the first
    log-in.
    """
    rows = Q(emailaddress__email=email)
    confirmed = User.objects.filter(rows & Q(emailaddress__verified=True), is_active=True)
    signed_up = Q(emailaddress__verified=False, last_login__isnull=True, token_families__isnull=True)
    waiting = User.objects.filter(rows & signed_up, is_active=True).exclude(emailaddress__verified=True)
    set_by_operator = User.objects.filter(email__iexact=email, emailaddress__isnull=True, is_active=True)
    return list(dict.fromkeys((*confirmed, *waiting, *set_by_operator)))


def forget_pending(email: str) -> None:
    """Delete unconfirmed address changes that version 1.0 stored for accounts with a confirmed address."""
    confirmed = EmailAddress.objects.filter(verified=True).values("user")
    EmailAddress.objects.filter(email=email, verified=False, user__in=confirmed).delete()


def ask_to_change(user: User, email: str, *, now: datetime) -> None:
    """Mail a confirmation link to an account's new address, even if the address belongs to another account.

    Earlier links of the account become invalid. Raises RateLimited.
    """
    end_links(CHANGE, subject=str(user.pk), now=now)
    token = make_link(CHANGE, email=email, subject=str(user.pk), lasts=timedelta(days=3), now=now)
    link = f"{settings.APP_URL}{reverse('account_confirm_address', args=[token])}"
    queue_requested_mail(email, "confirm_address", {"link": link}, named_by=user.pk, now=now)


def change(user: User, token: str, *, request: HttpRequest, now: datetime) -> None:
    """Change the account's address with a mailed link. Raises LinkEnded.

    The link must belong to this account, and the address must not belong to another account.
    """
    link = use_link(token, CHANGE, now=now)
    if link.subject != str(user.pk):
        raise LinkEnded
    before = user.email
    if not confirm(user, link.email):
        raise LinkEnded
    if before == user.email:
        return
    AccountHistory.note("account.email_changed", Actor(user, "session"), now=now)
    if before:
        mail_about_change(user, "address_changed", to=before, request=request, now=now)


def is_changed_by(user: User, token: str) -> bool:
    """Check whether the account has changed its address with this link, and still has the address."""
    link = OneTimeLink.objects.filter(digest=digest_of(token), purpose=CHANGE, subject=str(user.pk)).first()
    return link is not None and link.used_at is not None and owns(user, link.email)


def mail_about_privacy(user: User, template: str, *, language: str | None = None, now: datetime) -> None:
    """Mail an account about a request for its data or its erasure, because an attacker may have sent the request."""
    confirmed = EmailAddress.objects.filter(user=user, email=user.email, verified=True)
    if user.email and (confirmed.exists() or is_set_by_operator(user, user.email)):
        link = f"{settings.APP_URL}{reverse('account_privacy')}"
        queue_mail(user.email, template, {"link": link}, language=language, now=now)


def confirm(user: User, email: str) -> bool:
    """Store the confirmed address as the account's only address.

    Returns False if the address belongs to another account.
    """
    email = normalize(email)
    others = User.objects.exclude(pk=user.pk)
    confirmed = others.filter(emailaddress__email=email, emailaddress__verified=True)
    set_by_operator = others.filter(email__iexact=email, emailaddress__isnull=True)
    if confirmed.exists() or set_by_operator.exists():
        return False
    EmailAddress.objects.filter(user=user).exclude(email=email).delete()
    EmailAddress.objects.update_or_create(user=user, email=email, defaults={"verified": True, "primary": True})
    user.email = email
    user.save(update_fields=["email"])
    return True
