"""Staging items, finding them, and deciding about them."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import router, transaction

from config.api.prepared import PreparedSelect
from config.core.ids import get_by_uuid, parse_uuid
from config.core.lifecycle import Actor
from config.webhooks.events import record_event, record_events
from staging.errors import StagedItemNotFound
from staging.machine import APPROVED, EXPIRED, REJECTED, STAGED
from staging.models import Approval, Note, StagedItem
from staging.registry import ITEMS_PER_STATEMENT, KINDS
from staging.serializers import ItemAnswer

STAGED_DAYS = 30  # how long an item waits for its decision

_read_own = PreparedSelect(
    lambda item_id, user_id: StagedItem.objects.filter(pk=item_id, user_id=user_id), ItemAnswer.sources()
).first


def stage_item(*, user_id: int, kind: str, payload: dict[str, Any], source: str | None, now: datetime) -> StagedItem:
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


def item_page(*, user_id: int, limit: int, offset: int, status: str = STAGED, **filters: str) -> dict[str, Any]:
    """Return a page of the account's own items in `status`, newest first, with how many there are."""
    own = StagedItem.objects.filter(user_id=user_id, status=status, **filters)
    total = own.count()
    page = own.order_by("-id").values("id")[offset : offset + limit]
    rows = StagedItem.objects.filter(id__in=page).order_by("-id").values_list(*ItemAnswer.sources())
    items = [ItemAnswer.represent_values(row) for row in rows]
    return {"items": items, "total": total, "has_more": offset + len(items) < total}


def approve_item(item_id: str, *, actor: Actor, now: datetime) -> tuple[StagedItem, str]:
    """Make one of the actor's own staged items permanent; return it and the permanent row's id.

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
    own = StagedItem.objects.select_for_update().filter(user_id=actor.user.pk, status=STAGED)
    return get_by_uuid(own, item_id, StagedItemNotFound)


def _take_all(actor: Actor) -> Iterator[list[StagedItem]]:
    """Yield what the actor has in staging now in rounds, oldest first, locked for their decision.

    All deciders lock in the order of ids, so no two of them wait for ever.
    """
    # Never from a copy that lags: what was staged a moment ago is meant, too.
    current = StagedItem.objects.using(router.db_for_write(StagedItem))
    own = current.filter(user_id=actor.user.pk, status=STAGED).order_by("id")
    waiting = list(own.values_list("id", flat=True))
    for start in range(0, len(waiting), ITEMS_PER_STATEMENT):
        chosen = waiting[start : start + ITEMS_PER_STATEMENT]
        if items := list(own.filter(pk__in=chosen).select_for_update()):
            yield items


def _approve(items: Sequence[StagedItem], *, actor: Actor, now: datetime) -> list[str]:
    """Store the payloads of locked items and mark the items; return the permanent rows' ids in their order."""
    by_kind: dict[str, list[StagedItem]] = {}
    for item in items:
        by_kind.setdefault(item.kind, []).append(item)
    stored: dict[UUID, str] = {}
    for name, members in by_kind.items():
        identifiers = KINDS[name].store([item.payload for item in members], actor=actor, now=now)
        stored |= {item.pk: str(one) for item, one in zip(members, identifiers, strict=True)}
    Approval.objects.bulk_create(Approval(item=item, stored_id=stored[item.pk]) for item in items)
    _decide(items, APPROVED, actor=actor, now=now, stored=stored)
    return [stored[item.pk] for item in items]


def _decide(
    items: Sequence[StagedItem], status: str, *, actor: Actor, now: datetime, stored: dict[UUID, str] | None = None
) -> None:
    """Give locked items their last status, and tell: the only place that changes one."""
    decision = {"decided_at": now, "decided_by": actor.user, "credential": actor.credential}
    columns: dict[str, Any] = {"status": status, **decision}
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


def store_notes(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[UUID]:
    notes = [
        Note(user_id=actor.user.pk, title=payload.get("title"), text=payload["text"], created_at=now)
        for payload in payloads
    ]
    return [note.pk for note in Note.objects.bulk_create(notes)]
