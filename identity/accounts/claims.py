"""A person takes over the account that a partner made for them: a mailed link, a user name, a password."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from config.core.encryption import sealed_values
from config.core.ids import first_or
from config.core.lifecycle import Actor
from config.mail.addresses import comparable
from config.mail.outbox import queue_mail
from config.webhooks.events import record_event
from identity.access.models import AccountHistory, User
from identity.accounts.addresses import confirm
from identity.accounts.links import LinkEnded, end_links, find_link, make_link, use_link
from identity.accounts.models import ManagedAccount, OneTimeLink

PURPOSE = "claim"
VALID_FOR = timedelta(days=7)


def send_link(account: ManagedAccount, *, email: str, now: datetime) -> None:
    """Mail the person how to claim the account, unless a link to that address waits already. Raises RateLimited."""
    with transaction.atomic():
        account = ManagedAccount.objects.select_for_update().get(pk=account.pk)
        waiting = OneTimeLink.objects.usable_at(now).filter(purpose=PURPOSE, subject=str(account.pk)).exists()
        if waiting and account.email is not None and comparable(account.email) == email:
            return
        end_links_of(account, now=now)
        ManagedAccount.objects.filter(pk=account.pk).update(**sealed_values(account, email=email))
        token = make_link(PURPOSE, email=email, subject=str(account.pk), lasts=VALID_FOR, now=now)
        address = f"{settings.APP_URL}{reverse('account_claim', args=[token])}"
        queue_mail(email, "claim", {"link": address}, named_by=account.partner_id, now=now)


def end_links_of(account: ManagedAccount, *, now: datetime) -> None:
    end_links(PURPOSE, subject=str(account.pk), now=now)


def find(token: str, *, now: datetime) -> ManagedAccount:
    """Return the account of a link without using it. Raises LinkEnded."""
    waiting = ManagedAccount.objects.filter(claimed_at__isnull=True, ended_at__isnull=True, user__is_active=True)
    of_link = waiting.select_related("user", "partner").filter(pk=int(find_link(token, PURPOSE, now=now).subject))
    return first_or(of_link, LinkEnded)


def lock(account: ManagedAccount) -> tuple[User, ManagedAccount]:
    """Hold a person and their account for this transaction, and return both as they are now.

    A change of both, or of the links, locks them in this order: the person, the account, the links.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=account.pk)
    return user, ManagedAccount.objects.select_for_update().get(pk=account.pk)


def claim(token: str, *, username: str, password: str, now: datetime) -> User:
    """Make the account the person's own. The tokens that the partner holds end; it may get new ones until the person
    ends that. Raises LinkEnded; IntegrityError for a user name that is in use.
    """
    with transaction.atomic():
        found = find(token, now=now)
        user, account = lock(found)
        email = use_link(token, PURPOSE, now=now).email  # which has ended where the account was disabled meanwhile
        user.username = username
        user.set_password(password)
        user.save()
        confirm(user, email)
        ManagedAccount.objects.filter(pk=account.pk).update(claimed_at=now, email=None, name=None)
        AccountHistory.note("account.claimed", Actor(user, "claim"), now=now)
        members = {"user_id": str(user.pk), "managed_by": str(account.partner_id)}
        for account_id in (account.partner_id, user.pk):
            record_event("account.claimed", account_id=account_id, now=now, **members)
    return user
