"""Staging items, finding them, and deciding about them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import router, transaction

from config.api.prepared import PreparedSelect
from config.core.errors import ApiError
from config.core.ids import parse_uuid
from config.core.lifecycle import Actor
from config.webhooks.events import record_event, record_events
from staging.machine import APPROVED, EXPIRED, REJECTED, STAGED
from staging.models import Approval, StagedItem
from staging.registry import ITEMS_PER_STATEMENT, find_kind
from staging.serializers import ItemAnswer

# How long an item waits for its decision.
STAGED_DAYS = 30


class StagedItemNotFound(ApiError):
    """No such item, somebody else's, or (for a decision) one that has been decided."""

    status, error, code, stored = 404, "staging_item_not_found", "E4007", True
    message = "There is no such item in staging."


_read_own = PreparedSelect(
    lambda item_id, user_id: StagedItem.objects.filter(pk=item_id, user_id=user_id), ItemAnswer.sources()
).first


def stage_item(*, user_id: int, kind: str, payload: dict[str, Any], source: str | None, now: datetime) -> StagedItem:
    """Stage one item whose payload its kind has validated."""
    item = StagedItem.of(user_id=user_id, kind=kind, payload=payload, source=source, now=now)
    with transaction.atomic(savepoint=False):
        item.save(force_insert=True)
        record_event("staging.item.staged", account_id=user_id, now=now, **item.event_members())
    return item


def show_item(item_id: str, *, user_id: int) -> dict[str, Any]:
    """Return the answer for one of the account's own items, decided or not; raises StagedItemNotFound."""
    identifier = parse_uuid(item_id)
    row = _read_own(item_id=identifier, user_id=user_id) if identifier else None
    if row is None:
        raise StagedItemNotFound
    return ItemAnswer.represent_values(row)


def item_page(
    *, user_id: int, status: str = STAGED, kind: str | None = None, limit: int, offset: int
) -> dict[str, Any]:
    """Return a page of the account's own items in `status`, newest first, with how many there are."""
    own = StagedItem.objects.filter(user_id=user_id, status=status)
    if kind is not None:
        own = own.filter(kind=kind)
    total = own.count()
    page = own.order_by("-id").values("id")[offset : offset + limit]
    rows = StagedItem.objects.filter(id__in=page).order_by("-id").values_list(*ItemAnswer.sources())
    items = [ItemAnswer.represent_values(row) for row in rows]
    return {"items": items, "total": total, "has_more": offset + len(items) < total}


def approve_item(item_id: str, *, actor: Actor, now: datetime) -> tuple[StagedItem, str]:
    """Make one of the actor's own staged items permanent; return it and the id of the permanent row.

    Raises StagedItemNotFound, also for an item that has been decided.
    """
    with transaction.atomic(savepoint=False):
        item = _take_one(item_id, actor)
        return item, _approve([item], actor=actor, now=now)[0]


def reject_item(item_id: str, *, actor: Actor, now: datetime) -> StagedItem:
    """Keep one of the actor's own staged items from becoming permanent; raises StagedItemNotFound as `approve_item`."""
    with transaction.atomic(savepoint=False):
        item = _take_one(item_id, actor)
        _decide([item], REJECTED, actor=actor, now=now)
        return item


def approve_all(*, actor: Actor, now: datetime) -> list[UUID]:
    """Approve whatever the actor has in staging now, all of it or nothing; return the items' ids, oldest first."""
    approved = []
    with transaction.atomic(savepoint=False):
        for items in _take_all(actor):
            _approve(items, actor=actor, now=now)
            approved += [item.pk for item in items]
    return approved


def reject_all(*, actor: Actor, now: datetime) -> list[UUID]:
    """Reject whatever the actor has in staging now, all of it or nothing; return the items' ids, oldest first."""
    rejected = []
    with transaction.atomic(savepoint=False):
        for items in _take_all(actor):
            _decide(items, REJECTED, actor=actor, now=now)
            rejected += [item.pk for item in items]
    return rejected


def expire_staged(*, now: datetime) -> dict[str, int]:
    """Expire what has waited for STAGED_DAYS; return the count by name. Each round of items is its own transaction."""
    actor = Actor.system("prune")
    old = StagedItem.objects.filter(status=STAGED, staged_at__lte=now - timedelta(days=STAGED_DAYS))
    expired = 0
    while True:
        with transaction.atomic():
            # Whoever else is deciding about an item right now keeps it.
            items = list(old.select_for_update(skip_locked=True).order_by("staged_at")[:ITEMS_PER_STATEMENT])
            if not items:
                return {"staged_items_expired": expired}
            _decide(items, EXPIRED, actor=actor, now=now)
        expired += len(items)


def _take_one(item_id: str, actor: Actor) -> StagedItem:
    """Return the actor's own staged item, locked for its decision; raises StagedItemNotFound."""
    identifier = parse_uuid(item_id)
    if identifier is None:
        raise StagedItemNotFound
    staged = StagedItem.objects.filter(pk=identifier, user_id=actor.user.pk, status=STAGED)
    item = staged.select_for_update().first()
    if item is None:
        raise StagedItemNotFound
    return item


def _take_all(actor: Actor) -> Iterator[list[StagedItem]]:
    """Yield what the actor has in staging now in rounds, oldest first, locked for their decision.

    All deciders lock in the order of ids, so two of them wait for each other and never for ever. What somebody else
    has decided since is left out.
    """
    # Never from a copy that lags: what was staged a moment ago is meant, too.
    current = StagedItem.objects.using(router.db_for_write(StagedItem))
    own = current.filter(user_id=actor.user.pk, status=STAGED).order_by("id")
    for identifiers in _in_rounds(list(own.values_list("id", flat=True))):
        items = list(own.filter(pk__in=identifiers).select_for_update())
        if items:
            yield items


def _approve(items: Sequence[StagedItem], *, actor: Actor, now: datetime) -> list[str]:
    """Store the payloads of locked items and mark the items; return the permanent rows' ids in their order."""
    by_kind: dict[str, list[StagedItem]] = {}
    for item in items:
        by_kind.setdefault(item.kind, []).append(item)
    stored: dict[UUID, str] = {}
    for name, members in by_kind.items():
        kind = find_kind(name)
        if kind is None:
            raise LookupError(f"Staged items of kind {name!r} exist, but no app registers that kind.")
        identifiers = kind.store([item.payload for item in members], actor=actor, now=now)
        stored |= {item.pk: str(one) for item, one in zip(members, identifiers, strict=True)}
    Approval.objects.bulk_create(Approval(item=item, stored_id=stored[item.pk]) for item in items)
    _decide(items, APPROVED, actor=actor, now=now, stored=stored)
    return [stored[item.pk] for item in items]


def _decide(
    items: Sequence[StagedItem], status: str, *, actor: Actor, now: datetime, stored: dict[UUID, str] | None = None
) -> None:
    """Give locked items their last status, and tell: the only place that changes one."""
    columns: dict[str, Any] = {
        "status": status,
        "decided_at": now,
        "decided_by": actor.user,
        "credential": actor.credential,
    }
    undecided = StagedItem.objects.filter(pk__in=[item.pk for item in items], status=STAGED)
    if undecided.update(**columns) != len(items):
        raise StagedItemNotFound
    events = []
    for item in items:
        for name, value in columns.items():
            setattr(item, name, value)
        members = item.event_members()
        if stored is not None:
            members["stored_id"] = stored[item.pk]
        events.append((item.user_id, members))
    record_events(f"staging.item.{status}", events=events, now=now)


def _in_rounds(identifiers: Iterable[UUID]) -> Iterator[list[UUID]]:
    """Yield lists of at most ITEMS_PER_STATEMENT ids, in order."""
    remaining = iter(identifiers)
    while members := list(islice(remaining, ITEMS_PER_STATEMENT)):
        yield members
