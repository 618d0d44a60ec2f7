"""Link bank items, read their data, and store the data that the owner approved.

API clients can also stage bank data. To distinguish its own payloads, the platform adds an HMAC of the payload and its
owner. A row is `from_provider` only if the HMAC is valid. Staging removes the HMAC from payloads of clients, so clients
can't reuse it.
"""

import hmac
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q, QuerySet

from config.clients.provider import ProviderUnavailable
from config.core.credentials import InvalidToken
from config.core.currencies import exponent_of
from config.core.digest import digest_of
from config.core.encryption import UnreadableSecret
from config.core.errors import ApiError
from config.core.ids import first_or, uuid7
from config.core.json_text import canonical_json, rfc3339
from config.core.lifecycle import Actor
from config.ops.failed_items import FailedItems
from config.webhooks.events import record_event
from identity.access.consents import BANK_LINK, Consent, give_consent
from identity.access.models import User
from identity.bank.models import BOOKINGS_DAYS, BankAccount, BankItem, BankTransaction, linked_again
from identity.errors import BankItemNotFound, RelinkRequired, TokenNotAccepted
from identity.providers.base import (
    Account,
    BankingUnavailable,
    ItemStatus,
    LinkedItem,
    LinkToken,
    LoginRequired,
    OpenBanking,
    TokenRefused,
    Transaction,
)
from identity.providers.choice import open_banking
from staging.registry import ITEMS_PER_STATEMENT, Payload, stage_items

logger = logging.getLogger("platform.bank")

ACCOUNT_KIND, TRANSACTION_KIND = "bank_account", "bank_transaction"
HMAC_FIELD = "seal"
_LEASE = timedelta(minutes=5)  # the maximum duration of all requests for an item
_LOG_IN_AGAIN = "The bank requires a new log-in. Create a link token for the item, and open Plaid Link with the token."


class ItemNotRemoved(Exception):
    """Items can't be removed at the vendor without an operator. The message contains their IDs."""


ItemState = dict[str, Any]  # the fields of `ItemStateSerializer`


def link_item(*, actor: Actor, public_token: str, now: datetime) -> dict[str, Any]:
    """Exchange a public token, store the item, and stage its accounts and its transactions of BOOKINGS_DAYS days.

    Returns the fields of `ExchangeSerializer`. If the vendor doesn't return the data in time, the command
    `stage_bank_accounts` stages it later. Raises TokenNotAccepted and ProviderUnavailable.
    """
    provider = open_banking()
    try:
        linked = provider.exchange_public_token(public_token)
    except TokenRefused:
        raise TokenNotAccepted("public_token") from None
    except LoginRequired:
        raise BankingUnavailable("it requires a log-in for a new item") from None
    try:
        item = _store_item(linked, actor=actor, now=now)
    except TokenNotAccepted:
        raise  # keep the item, because another account owns it
    except BaseException:
        _remove_unstored(provider, linked)  # the platform can't remove an item later without its token
        raise
    staged_item_ids = stage_item(item, provider=provider, now=now)
    return {"item_id": item.item_id, "linked": True, "staged_item_ids": staged_item_ids}


@transaction.atomic
def _store_item(linked: LinkedItem, *, actor: Actor, now: datetime) -> BankItem:
    """Store a new item, or the new token of a known item. Raises TokenNotAccepted."""
    owner = User.objects.select_for_update(no_key=True).only("erased_at").get(pk=actor.user.pk)
    if owner.erased_at is not None:
        raise InvalidToken  # the erasure of the account started during the request
    token = {"access_token": linked.access_token, "token_fingerprint": digest_of(linked.access_token)}
    item, is_new = BankItem.objects.select_for_update().get_or_create(
        provider=settings.OPEN_BANKING,
        item_id=linked.item_id,
        defaults={"user_id": actor.user.pk, "linked_at": now, "updated_at": now, **token},
    )
    if item.user_id != actor.user.pk:
        raise TokenNotAccepted("public_token")
    if not is_new:
        as_linked = {"needs_login": False, "gone_at": None, "unlinked_at": None, "updated_at": now}
        for name, value in {**token, **as_linked}.items():
            setattr(item, name, value)
        item.save()
    # A new link replaces the items that the vendor has removed. Approved data remains.
    gone = BankItem.objects.filter(user=actor.user, provider=settings.OPEN_BANKING, gone_at__isnull=False)
    if not is_new:
        Consent.objects.filter(reference=item.pk).end(now=now)
    Consent.objects.filter(reference__in=gone.values("pk")).end(now=now)
    gone.delete()
    give_consent(actor.user.pk, BANK_LINK, item.pk, scope=f"{item.provider}: {item.item_id}", now=now)
    record_event(
        "bankdata.item.linked", account_id=actor.user.pk, now=now, item_id=item.item_id, provider=item.provider
    )
    return item


def _remove_unstored(provider: OpenBanking, linked: LinkedItem) -> None:
    """Remove an unstored item at the vendor. If the vendor fails, log the error for the operator."""
    try:
        provider.remove_item(linked.access_token)
    except (ProviderUnavailable, LoginRequired):
        logger.exception("item %s could be neither stored nor removed at the vendor", linked.item_id)


def create_link_token(*, user: Any, item_id: str | None) -> LinkToken:
    """Return a link token for a new bank, or for a new log-in to the bank of `item_id`.

    Raises BankItemNotFound and ProviderUnavailable.
    """
    if item_id is not None:
        with suppress(LoginRequired, TokenRefused, UnreadableSecret):
            access_token = _own_item(user, item_id).access_token
            return open_banking().create_link_token(user_id=str(user.pk), access_token=access_token)
    return open_banking().create_link_token(user_id=str(user.pk))


def unlink_item(*, actor: Actor, item_id: str, now: datetime) -> None:
    """Unlink an item, and after the commit, remove it at the vendor.

    If the removal fails, the worker removes the item later. Approved accounts and transactions remain. Raises
    BankItemNotFound.
    """
    _unlink(_own_item(actor.user, item_id), actor=actor, now=now)


def _unlink(item: BankItem, *, actor: Actor, now: datetime) -> None:
    if not BankItem.objects.linked().filter(pk=item.pk).update(unlinked_at=now, updated_at=now):
        raise BankItemNotFound
    Consent.objects.filter(reference=item.pk).end(now=now)
    record_event(
        "bankdata.item.unlinked", account_id=actor.user.pk, now=now, item_id=item.item_id, provider=item.provider
    )
    transaction.on_commit(partial(_remove_now, item, now))


def _end_link(consent: Consent, *, actor: Actor, now: datetime) -> None:
    """Unlink the bank of a consent if the bank is still linked."""
    item = BankItem.objects.linked().filter(pk=consent.reference).first()
    if item is not None:
        _unlink(item, actor=actor, now=now)


CONSENT_ENDING = (BANK_LINK, _end_link)


def _unlinked() -> QuerySet[BankItem]:
    return BankItem.objects.filter(provider=settings.OPEN_BANKING, unlinked_at__isnull=False)


def _removals() -> FailedItems[BankItem]:
    return FailedItems("unlinked_bank_item", _unlinked(), lease=_LEASE)


def _remove_now(item: BankItem, now: datetime) -> None:
    with _removals().attempt(item.pk, now=now):  # if this attempt fails, `stage_bank_accounts` tries again
        _remove(item)


def _remove(item: BankItem) -> None:
    try:
        open_banking().remove_item(item.access_token)
    except (LoginRequired, ProviderUnavailable) as error:
        logger.warning("item %s could not be removed at the vendor yet: %s", item.item_id, type(error).__name__)
        return
    except UnreadableSecret:
        logger.warning("item %s can't be removed at the vendor: its token cannot be read", item.item_id)
    _unlinked().filter(pk=item.pk).delete()


def remove_items(user_id: int, *, now: datetime) -> None:
    """Remove all items of an account at the vendor. This erasure step runs again after an exception.

    Raises ProviderUnavailable. Raises ItemNotRemoved if an item has another vendor, or an unreadable token.
    """
    left = []
    for item in BankItem.objects.filter(user=user_id):
        if item.gone_at is None:
            token = _token_at_vendor(item)
            if token is None:
                left.append(item.item_id)
                continue
            BankItem.objects.filter(pk=item.pk, unlinked_at__isnull=True).update(unlinked_at=now, updated_at=now)
            try:
                open_banking().remove_item(token)
            except LoginRequired:
                logger.warning("item %s could not be removed at the vendor: it requires a log-in", item.item_id)
        item.delete()
    if left:
        raise ItemNotRemoved(", ".join(left))


def _token_at_vendor(item: BankItem) -> str | None:
    """Return an item's token, or None if the item belongs to another vendor or the token can't be decrypted."""
    if item.provider != settings.OPEN_BANKING:
        logger.warning("item %s belongs to %s: it can't be removed there", item.item_id, item.provider)
        return None
    try:
        return str(item.access_token)
    except UnreadableSecret:
        logger.warning("item %s can't be removed at the vendor: its token cannot be read", item.item_id)
        return None


def _own_item(user: Any, item_id: str) -> BankItem:
    own = BankItem.objects.linked().filter(user=user, provider=settings.OPEN_BANKING, item_id=item_id)
    return first_or(own.none() if "\0" in item_id else own, BankItemNotFound("You have no linked item with this id."))


def stage_item(item: BankItem, *, provider: OpenBanking, now: datetime) -> list[UUID]:
    """Fetch and stage the accounts and transactions of a bank item. Return the IDs of the staged items.

    If the data is not available yet, or exceeds the limit of a request, `stage_bank_accounts` stages the data later.
    """
    few = partial(_stage_bookings, at_most=ITEMS_PER_STATEMENT)
    return [*_stage_or_log(_stage_accounts, item, provider, now), *_stage_or_log(few, item, provider, now)]


def stage_missing(*, now: datetime) -> dict[str, int]:
    """Stage data that the first fetch did not return, and remove unlinked items at the vendor.

    Return the number of items with missing data, of completed items, and of items that the vendor has not removed yet.
    """
    lacking = BankItem.objects.linked().filter(
        Q(accounts_staged_at__isnull=True) | Q(transactions_since__isnull=True),
        provider=settings.OPEN_BANKING, gone_at__isnull=True, user__is_active=True,
    )  # fmt: skip
    items = FailedItems("bank_item", lacking, lease=_LEASE)
    keys = []

    def stage(item: BankItem) -> None:
        keys.append(item.pk)
        provider = open_banking()
        if item.accounts_staged_at is None:
            _stage_or_log(_stage_accounts, item, provider, now)
        if item.transactions_since is None:
            _stage_or_log(_stage_bookings, item, provider, now)

    items.process(stage, now=now)
    missing = lacking.filter(pk__in=keys).count()
    _removals().process(_remove, now=now)
    return {"items": len(keys), "staged": len(keys) - missing, "not_removed": _unlinked().count()}


def _stage_or_log(stage: Callable[..., list[UUID]], item: BankItem, provider: OpenBanking, now: datetime) -> list[UUID]:
    """Return the IDs of the staged items. Returns an empty list if the vendor fails or returns an invalid response."""
    try:
        return stage(item, provider, now)
    except UnreadableSecret:
        return []
    except (LoginRequired, TokenRefused, ApiError) as error:
        what = "accounts" if stage is _stage_accounts else "bookings"
        logger.warning("the %s of item %s were not staged: %s", what, item.item_id, type(error).__name__)
    return []


def _stage_accounts(item: BankItem, provider: OpenBanking, now: datetime) -> list[UUID]:
    read = {"balance_on": now.date().isoformat()}
    accounts = [{**account, **read} for account in provider.list_accounts(item.access_token)]
    names = [account.pop("institution_name", None) for account in accounts]
    payloads = [(ACCOUNT_KIND, account) for account in accounts]
    return _stage(item, payloads, now=now, accounts_staged_at=now, institution_name=next(filter(None, names), None))


def _stage_bookings(item: BankItem, provider: OpenBanking, now: datetime, *, at_most: int | None = None) -> list[UUID]:
    """Stage the transactions of BOOKINGS_DAYS days before today. Today's transactions may still change.

    Raises BankingUnavailable if the vendor fails, or if there are more than `at_most` transactions.
    """
    since = now.date() - timedelta(days=BOOKINGS_DAYS)
    payloads = [
        (TRANSACTION_KIND, {**booking, "item_id": item.item_id})
        for booking in provider.list_transactions(item.access_token, since=since)
        if booking["date"] < now.date().isoformat() and not booking["pending"]
    ]
    if at_most is not None and len(payloads) > at_most:
        raise BankingUnavailable("it has too many transactions for one request")
    return _stage(item, payloads, now=now, transactions_since=since, transactions_staged=len(payloads))


@transaction.atomic
def _stage(item: BankItem, payloads: list[tuple[str, Payload]], *, now: datetime, **columns: Any) -> list[UUID]:
    staged = stage_items(user_id=item.user_id, items=payloads, source=f"bank:{item.item_id}"[:255], now=now)
    BankItem.objects.filter(pk=item.pk).update(updated_at=now, **columns)
    return staged


def read_accounts(*, user: Any, now: datetime, access_token: str | None = None) -> dict[str, Any]:
    """Return the fields of `BankAccountsSerializer` for all readable items, or for the item with `access_token`.

    Raises the errors of `_read_each`.
    """
    accounts: list[Account] = []
    item_ids: list[str] = []
    states: list[ItemState] = []
    for item, rows, state in _read_each("list_accounts", user=user, now=now, access_token=access_token):
        accounts += [{**row, "exponent": exponent_of(row["currency"])} for row in rows]
        own = sorted({row["item_id"] for row in rows})
        item_ids += ([item.item_id] if item.item_id else own) if state["error"] is None else []
        states += [{**state, "item_id": item_id} for item_id in ([item.item_id] if item.item_id else own)]
    return {"accounts": accounts, "item_ids": item_ids, "items": states, "total": len(accounts)}


def read_transactions(
    *, user: Any, now: datetime, limit: int, offset: int, access_token: str | None = None
) -> dict[str, Any]:
    """Return the fields of `BankTransactionsSerializer`. A page has transactions of all readable items, newest first.

    Raises the errors of `_read_each`.
    """
    bookings: list[Transaction] = []
    states: list[ItemState] = []
    for item, rows, state in _read_each("list_transactions", user=user, now=now, access_token=access_token):
        bookings += [
            {**row, "item_id": row["item_id"] or item.item_id or None, "exponent": exponent_of(row["currency"])}
            for row in rows
        ]
        states += [{**state, "item_id": item.item_id}] if item.item_id else []
    bookings.sort(key=itemgetter("transaction_id"))
    bookings.sort(key=itemgetter("date"), reverse=True)
    page = bookings[offset : offset + limit]
    has_more = offset + len(page) < len(bookings)
    return {"transactions": page, "items": states, "total": len(bookings), "has_more": has_more}


def _read_each(
    method: str, *, user: Any, now: datetime, access_token: str | None
) -> list[tuple[BankItem, list[dict[str, Any]], ItemState]]:
    """Return each item with its rows and its status.

    If no item can be read, raises RelinkRequired, TokenNotAccepted, or ProviderUnavailable for the first item. Raises
    BankItemNotFound if no item is linked.
    """
    provider = open_banking()
    outcomes: list[tuple[BankItem, list[dict[str, Any]], ItemState]] = []
    failures: list[tuple[BankItem, Exception]] = []
    for item in _items_of(user, access_token):
        try:
            rows = getattr(provider, method)(item.access_token)
            outcomes.append((item, rows, {"status": ItemStatus.OK, "error": None}))
        except (UnreadableSecret, LoginRequired, TokenRefused, ProviderUnavailable) as error:
            failures.append((item, error))
            outcomes.append((item, [], _failed(error)))
        _store_status(item, outcomes[-1][2]["status"], now=now)
    if len(failures) == len(outcomes):
        failures.sort(key=lambda failure: isinstance(failure[1], ProviderUnavailable))
        raise _refusal_of(*failures[0], provider, user=user)
    return outcomes


def _failed(error: Exception) -> ItemState:
    if isinstance(error, ProviderUnavailable):
        status = getattr(error, "item_status", ItemStatus.BANK_DOWN)
        return {"status": status, "error": {"code": error.code, "message": str(error)}}
    if isinstance(error, LoginRequired):
        return {"status": ItemStatus.LOGIN_REQUIRED, "error": {"code": RelinkRequired.code, "message": _LOG_IN_AGAIN}}
    status = ItemStatus.GONE if isinstance(error, TokenRefused) else ItemStatus.INTERNAL
    return {"status": status, "error": {"code": RelinkRequired.code, "message": "Link the bank again."}}


def _store_status(item: BankItem, status: ItemStatus, *, now: datetime) -> None:
    """Store a new status of a stored item. If the bank is not available, the stored status remains."""
    if not item.item_id or status in {ItemStatus.BANK_DOWN, ItemStatus.INTERNAL}:
        return
    needs_login, is_gone = status is ItemStatus.LOGIN_REQUIRED, status is ItemStatus.GONE
    if (item.needs_login, item.gone_at is not None) != (needs_login, is_gone):
        gone_at = (item.gone_at or now) if is_gone else None
        BankItem.objects.filter(pk=item.pk).update(needs_login=needs_login, gone_at=gone_at, updated_at=now)


def _items_of(user: Any, access_token: str | None) -> list[BankItem]:
    """Return the stored items to read. For an unknown `access_token`, return an unsaved item."""
    if access_token is None:
        items = list(BankItem.objects.linked().filter(user=user, provider=settings.OPEN_BANKING))
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


def _refusal_of(item: BankItem, error: Exception, provider: OpenBanking, *, user: Any) -> ApiError:
    """Return the error if no item can be read.

    If the owner must link the bank again or log in to it again, the error contains a new link token.
    """
    if isinstance(error, ProviderUnavailable):
        return error
    if isinstance(error, TokenRefused) and not item.item_id:
        return TokenNotAccepted("access_token")
    access_token = item.access_token if isinstance(error, LoginRequired) else None
    try:
        link = provider.create_link_token(user_id=str(user.pk), access_token=access_token)
    except (LoginRequired, TokenRefused):
        return BankingUnavailable("it creates no link token for this item")
    except ProviderUnavailable as unavailable:
        return unavailable
    return RelinkRequired(
        details={
            "item_id": item.item_id or None,
            "link_token": link.link_token,
            "expiration": rfc3339(link.expiration),
            "mode": "link" if access_token is None else "update",
        }
    )


def _hmac_of(payload: dict[str, Any], user_id: int) -> str:
    message = b"bank payload/%d/" % user_id + canonical_json(payload)
    return hmac.new(settings.SECRET_KEY.encode(), message, sha256).hexdigest()


def mark_payload(payload: dict[str, Any], user_id: int) -> dict[str, Any]:
    """Add the HMAC to the payload. The HMAC proves that a bank reported the data to this account."""
    return {**payload, HMAC_FIELD: _hmac_of(payload, user_id)}


def _columns(payload: dict[str, Any], user_id: int) -> dict[str, Any]:
    members = dict(payload)
    digest = str(members.pop(HMAC_FIELD, ""))
    return {**members, "from_provider": hmac.compare_digest(digest.encode(), _hmac_of(members, user_id).encode())}


def _store(
    model: type[models.Model], reference: str, payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime
) -> list[Any]:
    """Store approved payloads of `actor.user` in two statements. A newer payload replaces an older row.

    Return the IDs of the rows in the order of the payloads.
    """
    user_id = actor.user.pk
    # A statement can write each row only once, so use the latest payload of each account or transaction.
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


def store_accounts(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[Any]:
    """Store approved accounts. If an account was linked twice, the newest row replaces the older rows."""
    ids = _store(BankAccount, "account_id", payloads, actor=actor, now=now)
    if not any(HMAC_FIELD in payload for payload in payloads):
        return ids  # data from API clients must not replace data from banks
    newest_first = BankAccount.objects.filter(user=actor.user, from_provider=True).order_by("-updated_at", "-id")
    replaced = linked_again(newest_first)
    if replaced:
        BankAccount.objects.filter(pk__in=replaced).delete()
    return [replaced.get(each, each) for each in ids]


store_transactions = partial(_store, BankTransaction, "transaction_id")
