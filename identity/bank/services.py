"""Linking bank items, reading what they hold, and storing what their owner approved of them.

A client may stage bank payloads too, so what we staged ourselves carries a mark: an HMAC over the payload and its
owner. A row says `from_provider` only when the mark is ours. Staging drops it from what a client sends: one that was
read there and sent again counts for nothing.
"""

import hmac
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q

from config.clients.provider import ProviderUnavailable
from config.core.digest import digest_of
from config.core.encryption import UnreadableSecret
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import canonical_json, rfc3339
from config.core.lifecycle import Actor
from config.webhooks.events import record_event
from identity.bank.models import BOOKINGS_DAYS, BankAccount, BankItem, BankTransaction
from identity.errors import BankItemNotFound, RelinkRequired, TokenNotAccepted
from identity.providers.base import Account, BankingUnavailable, LinkedItem, LoginRequired, TokenRefused, Transaction
from identity.providers.choice import OpenBanking, open_banking
from staging.registry import ITEMS_PER_STATEMENT, Payload, stage_items

logger = logging.getLogger("platform.bank")

ACCOUNT_KIND, TRANSACTION_KIND = "bank_account", "bank_transaction"
MARK = "seal"
Read = TypeVar("Read")


class Linked(NamedTuple):
    item_id: str
    staged_item_ids: list[UUID]
    linked: bool = True


class Accounts(NamedTuple):
    accounts: list[Account]
    item_ids: list[str]
    total: int


class Transactions(NamedTuple):
    transactions: list[Transaction]
    total: int
    has_more: bool


def link_item(*, actor: Actor, public_token: str, now: datetime) -> Linked:
    """Exchange a public token, keep the item, and stage its accounts and the bookings of BOOKINGS_DAYS days.

    The command `stage_bank_accounts` stages data that the provider does not deliver in time. Raises TokenNotAccepted,
    ProviderUnavailable.
    """
    provider = open_banking()
    try:
        linked = provider.exchange_public_token(public_token)
    except TokenRefused:
        raise TokenNotAccepted("public_token") from None
    except LoginRequired:
        raise BankingUnavailable("it wants a log-in for a new item") from None
    try:
        item = _keep_item(linked, actor=actor, now=now)
    except TokenNotAccepted:
        raise  # the item is another person's: ending it would take it from them
    except BaseException:
        _end_token(provider, linked)  # otherwise a token would exist without a record of it
        raise
    staged = stage_item(item, provider=provider, now=now)
    return Linked(item.item_id, staged)


@transaction.atomic
def _keep_item(linked: LinkedItem, *, actor: Actor, now: datetime) -> BankItem:
    """Store an item with its token, or a new token for an item that is known; raises TokenNotAccepted."""
    token = {"access_token": linked.access_token, "token_fingerprint": digest_of(linked.access_token)}
    item, is_new = BankItem.objects.select_for_update().get_or_create(
        provider=settings.OPEN_BANKING,
        item_id=linked.item_id,
        defaults={"user_id": actor.user.pk, "linked_at": now, "updated_at": now, **token},
    )
    if item.user_id != actor.user.pk:
        raise TokenNotAccepted("public_token")
    if not is_new:
        for name, value in {**token, "needs_login": False, "updated_at": now}.items():
            setattr(item, name, value)
        item.save()
    record_event(
        "bankdata.item.linked", account_id=actor.user.pk, now=now, item_id=item.item_id, provider=item.provider
    )
    return item


def _end_token(provider: OpenBanking, linked: LinkedItem) -> None:
    """End a token that could not be stored; a provider that fails here too leaves a line for the operator."""
    try:
        provider.remove_item(linked.access_token)
    except (ProviderUnavailable, LoginRequired):
        logger.exception("item %s was linked, not stored, and could not be removed", linked.item_id)


def stage_item(item: BankItem, *, provider: OpenBanking, now: datetime) -> list[UUID]:
    """Fetch an item's accounts and bookings and stage them; return the staged items' ids.

    Data that cannot be fetched now, and bookings beyond a request's time, are left to `stage_bank_accounts`.
    """
    few = partial(_stage_bookings, at_most=ITEMS_PER_STATEMENT)
    return [*_try(_stage_accounts, item, provider, now), *_try(few, item, provider, now)]


def stage_missing(*, now: datetime) -> dict[str, int]:
    """Stage what a first fetch did not bring; return how many items lacked something and how many lack nothing now."""
    lacking = BankItem.objects.filter(provider=settings.OPEN_BANKING).filter(
        Q(accounts_staged_at__isnull=True) | Q(transactions_since__isnull=True)
    )
    waiting = list(lacking)
    for item in waiting:
        provider = open_banking()
        if item.accounts_staged_at is None:
            _try(_stage_accounts, item, provider, now)
        if item.transactions_since is None:
            _try(_stage_bookings, item, provider, now)
    missing = lacking.filter(pk__in=[item.pk for item in waiting]).count()
    return {"items": len(waiting), "staged": len(waiting) - missing}


Stage = Callable[[BankItem, OpenBanking, datetime], list[UUID]]


def _try(stage: Stage, item: BankItem, provider: OpenBanking, now: datetime) -> list[UUID]:
    """Return the ids of what was staged, none when the provider or its answer is in the way."""
    try:
        return stage(item, provider, now)
    except UnreadableSecret:
        return []
    except (LoginRequired, TokenRefused, ApiError) as error:
        what = "accounts" if stage is _stage_accounts else "bookings"
        logger.warning("the %s of item %s were not staged: %s", what, item.item_id, type(error).__name__)
    return []


def _stage_accounts(item: BankItem, provider: OpenBanking, now: datetime) -> list[UUID]:
    payloads = [(ACCOUNT_KIND, account) for account in provider.list_accounts(item.access_token)]
    return _stage(item, payloads, now=now, accounts_staged_at=now)


def _stage_bookings(item: BankItem, provider: OpenBanking, now: datetime, *, at_most: int | None = None) -> list[UUID]:
    """Stage what was booked on the last days, today left out: its bookings may still change.

    Raises BankingUnavailable also where there are more than `at_most`.
    """
    since = now.date() - timedelta(days=BOOKINGS_DAYS)
    payloads = [
        (TRANSACTION_KIND, {**booking, "item_id": item.item_id})
        for booking in provider.list_transactions(item.access_token, since=since)
        if booking["date"] < now.date().isoformat() and not booking["pending"]
    ]
    if at_most is not None and len(payloads) > at_most:
        raise BankingUnavailable("it has too many bookings to be staged at once")
    return _stage(item, payloads, now=now, transactions_since=since, transactions_staged=len(payloads))


@transaction.atomic
def _stage(item: BankItem, payloads: list[tuple[str, Payload]], *, now: datetime, **columns: Any) -> list[UUID]:
    staged = stage_items(user_id=item.user_id, items=payloads, source=f"bank:{item.item_id}"[:255], now=now)
    BankItem.objects.filter(pk=item.pk).update(updated_at=now, **columns)
    return staged


def read_accounts(*, user: Any, now: datetime, access_token: str | None = None) -> Accounts:
    """Return all of the person's accounts, or those that `access_token` opens; raises what `_ask` does."""
    provider = open_banking()
    found: list[Account] = []
    item_ids: list[str] = []
    for item in _items_of(user, access_token):
        accounts = _ask(item, provider, provider.list_accounts, user=user, now=now)
        found += accounts
        item_ids += [item.item_id] if item.item_id else sorted({account["item_id"] for account in accounts})
    return Accounts(found, item_ids, len(found))


def read_transactions(
    *, user: Any, now: datetime, limit: int, offset: int, access_token: str | None = None
) -> Transactions:
    """Return one page of the bookings of all of the person's items, newest first; raises as `read_accounts`."""
    provider = open_banking()
    found: list[Transaction] = []
    for item in _items_of(user, access_token):
        bookings = _ask(item, provider, provider.list_transactions, user=user, now=now)
        found += [{**booking, "item_id": booking["item_id"] or item.item_id or None} for booking in bookings]
    # Two stable sorts: the latest day first, and within a day an order that no second request changes.
    found.sort(key=itemgetter("transaction_id"))
    found.sort(key=itemgetter("date"), reverse=True)
    page = found[offset : offset + limit]
    return Transactions(page, len(found), has_more=offset + len(page) < len(found))


def _items_of(user: Any, access_token: str | None) -> list[BankItem]:
    """Return the items to read: the stored ones, or one that only stands for a token given instead."""
    if access_token is None:
        items = list(BankItem.objects.filter(user=user, provider=settings.OPEN_BANKING))
        if not items:
            raise BankItemNotFound
        return items
    fingerprint = digest_of(access_token)
    known = BankItem.objects.filter(token_fingerprint=fingerprint).first()
    if known is None:
        return [BankItem(item_id="", access_token=access_token, token_fingerprint=fingerprint)]
    if known.user_id != user.pk:
        raise TokenNotAccepted("access_token")
    return [known]


def _ask(
    item: BankItem, provider: OpenBanking, read: Callable[[str], list[Read]], *, user: Any, now: datetime
) -> list[Read]:
    """Read an item; say what is to be done when the provider refuses its token."""
    is_stored = bool(item.item_id)
    try:
        found = read(item.access_token)
    except UnreadableSecret:
        raise _relink(item, provider, user=user, access_token=None) from None
    except LoginRequired:
        if is_stored and not item.needs_login:
            BankItem.objects.filter(pk=item.pk).update(needs_login=True, updated_at=now)
        raise _relink(item, provider, user=user, access_token=item.access_token) from None
    except TokenRefused:
        if not is_stored:
            raise TokenNotAccepted("access_token") from None
        # The provider has forgotten the item, for example because the person withdrew it there: link it anew.
        raise _relink(item, provider, user=user, access_token=None) from None
    if is_stored and item.needs_login:
        BankItem.objects.filter(pk=item.pk).update(needs_login=False, updated_at=now)
    return found


def _relink(item: BankItem, provider: OpenBanking, *, user: Any, access_token: str | None) -> ApiError:
    """Return the error with a fresh link token: in update mode for an access token that still names its item."""
    try:
        link = provider.create_link_token(user_id=str(user.pk), access_token=access_token)
    except (LoginRequired, TokenRefused):
        return BankingUnavailable("it gives no link token for this item")
    return RelinkRequired(
        details={
            "item_id": item.item_id or None,
            "link_token": link.link_token,
            "expiration": rfc3339(link.expiration),
            "mode": "link" if access_token is None else "update",
        }
    )


def _mark_of(payload: dict[str, Any], user_id: int) -> str:
    message = b"bank payload/%d/" % user_id + canonical_json(payload)
    return hmac.new(settings.SECRET_KEY.encode(), message, sha256).hexdigest()


def attested(payload: dict[str, Any], user_id: int) -> dict[str, Any]:
    """Return the payload with our mark: this is what the bank said about `user_id`'s account."""
    return {**payload, MARK: _mark_of(payload, user_id)}


def _columns(payload: dict[str, Any], user_id: int) -> dict[str, Any]:
    members = dict(payload)
    mark = str(members.pop(MARK, ""))
    return {**members, "from_provider": hmac.compare_digest(mark.encode(), _mark_of(members, user_id).encode())}


def _store(
    model: type[models.Model], reference: str, payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime
) -> list[Any]:
    """Store approved payloads of `actor.user`, newer ones over older rows of the same reference, in two statements.

    Return their rows' ids in the payloads' order.
    """
    user_id = actor.user.pk
    # One statement may write a row once: the latest payload of each reference counts.
    latest = {payload[reference]: payload for payload in payloads}
    rows = [
        model(id=uuid7(), user_id=user_id, created_at=now, updated_at=now, **_columns(payload, user_id))
        for payload in latest.values()
    ]
    kept = {"id", "user", "created_at", reference}
    model._default_manager.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["user", reference],
        update_fields=[field.name for field in model._meta.concrete_fields if field.name not in kept],
    )
    kept_rows = model._default_manager.filter(**{"user_id": user_id, f"{reference}__in": list(latest)})
    stored = dict(kept_rows.values_list(reference, "id"))
    return [stored[payload[reference]] for payload in payloads]


store_accounts = partial(_store, BankAccount, "account_id")
store_transactions = partial(_store, BankTransaction, "transaction_id")
