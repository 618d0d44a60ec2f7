"""Accounts that a partner creates for its customers, and the tokens with which it acts on their behalf.

A partner is an account with PARTNER_PERMISSION (the group Partner). A token lasts 15 minutes and is limited to
ACTING_SCOPES. Its claim `act` is the partner's id (RFC 8693, section 4.1). The token can't decide, pay, or create
another token. The history of each action has the customer's and the partner's id.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.urls import reverse

from config.core.credentials import InsufficientScope
from config.core.encryption import sealed_values
from config.core.ids import first_or, parse_positive_int64, uuid7
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.registration import declared
from config.mail.addresses import comparable
from config.mail.outbox import queue_requested_mail
from config.webhooks.events import record_event
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, TokenFamily, User
from identity.access.scopes import ACTING_SCOPES
from identity.access.tokens import ACCESS_SECONDS, issue_access_token
from identity.accounts.addresses import check_address, confirm
from identity.accounts.links import LinkEnded, end_links, find_link, make_link, use_link
from identity.accounts.models import ManagedAccount, OneTimeLink
from identity.errors import AccessEnded, AccountNotFound

PARTNER_PERMISSION = "identity.add_managedaccount"
CLAIM_PURPOSE = "claim"


def make_account(
    actor: Actor, *, external_id: str, email: str | None, name: str | None, now: datetime
) -> tuple[ManagedAccount, bool]:
    """Return the partner's account for `external_id`, and True if it is new.

    With `email`, the customer gets a mail with a link to claim the account. No mail is sent while an earlier link to
    that address is valid. Raises InsufficientScope for an account that is not a partner. Raises AccessEnded. Raises
    RateLimited, and then creates no account.
    """
    _require_partner(actor)
    if email is not None:
        email = check_address(email)
    with transaction.atomic():
        account, is_new = _existing(actor, external_id), False
        if account is None:
            try:
                with transaction.atomic():
                    account, is_new = _insert(actor, external_id=external_id, name=name, now=now), True
            except IntegrityError:  # a concurrent request created the account
                account = _existing(actor, external_id)
                if account is None:
                    raise
        if email is not None and account.claimed_at is None:
            _send_claim_link(account, email=email, now=now)
    return account, is_new


def _insert(actor: Actor, *, external_id: str, name: str | None, now: datetime) -> ManagedAccount:
    user = User(username=f"managed-{uuid7()}", date_joined=now, credentials_changed_at=now)
    user.set_unusable_password()
    user.save(force_insert=True)
    facts = {"external_id": external_id, "name": name, "created_at": now}
    account = ManagedAccount.objects.create(user=user, partner=actor.user, **facts)
    AccountHistory.note("account.created", actor, account_id=user.pk, now=now)
    _record("created", account, now)
    return account


def accounts_of(partner: User) -> QuerySet[ManagedAccount]:
    """Select a partner's accounts on whose behalf the partner can act, newest first."""
    return ManagedAccount.objects.filter(partner=partner, ended_at__isnull=True).order_by("-user_id")


def partners_of(user: Any) -> QuerySet[ManagedAccount]:
    """Select the managed account of `user` if its partner can act on behalf of `user`."""
    return ManagedAccount.objects.filter(user=user, ended_at__isnull=True).select_related("partner", "user")


def load_account(actor: Actor, identifier: str) -> ManagedAccount:
    """Load a managed account. Raises AccountNotFound, AccessEnded, and InsufficientScope if the actor is no partner."""
    account = _load(actor, identifier)
    if account.ended_at is not None:
        raise AccessEnded
    return account


def load_unclaimed(actor: Actor, identifier: str, *, also_erased: bool = False) -> ManagedAccount:
    """Load an account that the customer has not claimed, so that the partner can exercise the customer's rights.

    Raises the errors of `load_account`. Raises RecordNotEditable for a claimed account.
    """
    account = _load(actor, identifier)
    if account.ended_at is not None and not (also_erased and account.user.erased_at is not None):
        raise AccessEnded
    if account.claimed_at is not None:
        raise RecordNotEditable(
            "The customer has claimed this account. Only the customer can request this, at /account/privacy."
        )
    return account


def _load(actor: Actor, identifier: str) -> ManagedAccount:
    _require_partner(actor)
    number = parse_positive_int64(identifier)
    own = ManagedAccount.objects.select_related("user").filter(partner=actor.user)
    return first_or(own.filter(pk=number) if number else own.none(), AccountNotFound)


def disable_account(actor: Actor, identifier: str, *, now: datetime) -> None:
    """Disable an account. If the customer has claimed the account, end only the partner's access.

    Raises the errors of `load_account`. Raises RecordNotEditable while a payment is in flight.
    """
    account = load_account(actor, identifier)
    with transaction.atomic():
        user, account = _lock(account)  # the customer may have claimed the account concurrently
        if not _end(account, now=now):
            raise AccessEnded
        if account.claimed_at is None:
            for why_not in declared("account_not_closed"):
                if reason := why_not(user.pk):
                    raise RecordNotEditable(reason)
            user.is_active = False
            user.save(update_fields=["is_active"])
        verb = "access_ended" if account.claimed_at else "disabled"
        AccountHistory.note(f"account.{verb}", actor, account_id=account.pk, now=now)
        _record(verb, account, now)
    forget_credentials()


def end_access(account: ManagedAccount, *, now: datetime) -> None:
    """End a partner's access at the customer's request. Idempotent."""
    with transaction.atomic():
        if not _end(account, now=now):
            return
        AccountHistory.note("account.access_ended", Actor(account.user, "session"), now=now)
        _record("access_ended", account, now)
    forget_credentials()


def end_access_to_erased(user_id: int, *, now: datetime) -> None:
    """End a partner's access to an erased account, and record the event for the partner. Idempotent."""
    with transaction.atomic():
        account = ManagedAccount.objects.filter(user=user_id).first()
        if account is not None and _end(account, now=now):
            _record_for(account.partner_id, "access_ended", account, now)


def issue_token(actor: Actor, identifier: str, *, scopes: list[str], now: datetime) -> dict[str, Any]:
    """Return a token with which the partner acts on behalf of a customer, and write a history entry.

    Raises the errors of `load_account`. Raises RecordNotEditable if the account is disabled, belongs to staff or a
    group, or a Django app excludes it (`account_not_acted_for`).
    """
    account = load_account(actor, identifier)
    user = account.user
    if not user.is_active or user.is_staff or user.is_superuser or user.groups.exists():
        raise RecordNotEditable(
            "You can't act on behalf of this account: it is disabled, or it belongs to staff or a business."
        )
    for why_not in declared("account_not_acted_for"):
        if reason := why_not(user.pk):
            raise RecordNotEditable(reason)
    scope = " ".join(scope for scope in ACTING_SCOPES if scope in scopes)
    with transaction.atomic():
        # The row is locked, so that a concurrent end of the access also ends this token.
        if ManagedAccount.objects.select_for_update().get(pk=account.pk).ended_at is not None:
            raise AccessEnded
        made_at = max(now, user.credentials_changed_at)
        family = TokenFamily.objects.create(user=user, actor=actor.user, scope=scope, created_at=made_at)
        details = {"token": str(family.pk), "scope": scope}
        AccountHistory.note("account.token_issued", actor, account_id=user.pk, now=now, details=details)
    access_token = issue_access_token(user=user, family=family)
    return {"access_token": access_token, "token_type": "Bearer", "expires_in": ACCESS_SECONDS, "scope": scope}


def _require_partner(actor: Actor) -> None:
    if not actor.user.has_perm(PARTNER_PERMISSION):
        raise InsufficientScope(
            "Staff invite partners, or add them to the group Partner.", details={"required": PARTNER_PERMISSION}
        )


def _existing(actor: Actor, external_id: str) -> ManagedAccount | None:
    account = ManagedAccount.objects.filter(partner=actor.user, external_id=external_id).first()
    if account is not None and account.ended_at is not None:
        raise AccessEnded
    return account


def _end(account: ManagedAccount, *, now: datetime) -> bool:
    """End the partner's access and all of its tokens. Return False if it had already ended."""
    ended = ManagedAccount.objects.filter(pk=account.pk, ended_at__isnull=True)
    if not ended.update(ended_at=now, email=None, name=None):
        return False
    _end_claim_links(account, now=now)
    TokenFamily.objects.filter(user_id=account.pk, actor_id=account.partner_id).revoke(now=now)
    return True


def _record(verb: str, account: ManagedAccount, now: datetime) -> None:
    """Record the event for the partner, and also for a customer who has claimed the account."""
    recipients = {account.partner_id} | ({account.pk} if account.claimed_at else set())
    for account_id in sorted(recipients):
        _record_for(account_id, verb, account, now)


def _record_for(account_id: int, verb: str, account: ManagedAccount, now: datetime) -> None:
    members = {"user_id": str(account.pk), "managed_by": str(account.partner_id)}
    record_event(f"account.{verb}", account_id=account_id, now=now, **members)


def _send_claim_link(account: ManagedAccount, *, email: str, now: datetime) -> None:
    """Mail a link to claim the account if no link to that address is valid. Raises RateLimited."""
    with transaction.atomic():
        account = ManagedAccount.objects.select_for_update().get(pk=account.pk)
        waiting = OneTimeLink.objects.usable_at(now).filter(purpose=CLAIM_PURPOSE, subject=str(account.pk)).exists()
        if waiting and account.email is not None and comparable(account.email) == email:
            return
        _end_claim_links(account, now=now)
        ManagedAccount.objects.filter(pk=account.pk).update(**sealed_values(account, email=email))
        token = make_link(CLAIM_PURPOSE, email=email, subject=str(account.pk), lasts=timedelta(days=7), now=now)
        address = f"{settings.APP_URL}{reverse('account_claim', args=[token])}"
        queue_requested_mail(email, "claim", {"link": address}, named_by=account.partner_id, now=now)


def _end_claim_links(account: ManagedAccount, *, now: datetime) -> None:
    end_links(CLAIM_PURPOSE, subject=str(account.pk), now=now)


def find_claimable(token: str, *, now: datetime) -> ManagedAccount:
    """Return the account of a link without using the link. Raises LinkEnded."""
    waiting = ManagedAccount.objects.filter(claimed_at__isnull=True, ended_at__isnull=True, user__is_active=True)
    of_link = waiting.select_related("user", "partner").filter(pk=int(find_link(token, CLAIM_PURPOSE, now=now).subject))
    return first_or(of_link, LinkEnded)


def _lock(account: ManagedAccount) -> tuple[User, ManagedAccount]:
    """Lock a user and the managed account for this transaction. Return both with their current values.

    To avoid deadlocks, lock the user first, then the managed account, then the links.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=account.pk)
    return user, ManagedAccount.objects.select_for_update().get(pk=account.pk)


def claim(token: str, *, username: str, password: str, now: datetime) -> User:
    """Transfer the account to its customer, and revoke the partner's tokens.

    The partner can create new tokens until the customer ends the partner's access. Raises LinkEnded. Raises
    IntegrityError if the user name is in use.
    """
    with transaction.atomic():
        user, account = _lock(find_claimable(token, now=now))
        # A concurrent request that disables the account also ends the link.
        email = use_link(token, CLAIM_PURPOSE, now=now).email
        user.username = username
        user.set_password(password)
        user.save()
        confirm(user, email)
        ManagedAccount.objects.filter(pk=account.pk).update(claimed_at=now, email=None, name=None)
        AccountHistory.note("account.claimed", Actor(user, "claim"), now=now)
        account.claimed_at = now
        _record("claimed", account, now)
    return user
