from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import router, transaction
from django.db.models import QuerySet

from config.core.ids import get_by_uuid
from config.core.lifecycle import Actor
from config.webhooks.events import record_event, record_events
from staging.errors import StagedItemNotFound
from staging.machine import APPROVED, EXPIRED, REJECTED, STAGED
from staging.models import Approval, Note, StagedItem
from staging.registry import ITEMS_PER_STATEMENT, KINDS

STAGED_DAYS = 30  # how long an item waits for its decision


def stage_item(*, user_id: int, kind: str, payload: dict[str, Any], source: str | None, now: datetime) -> StagedItem:
    item = StagedItem.of(user_id=user_id, kind=kind, payload=payload, source=source, now=now)
    with transaction.atomic(savepoint=False):
        item.save(force_insert=True)
        record_event("staging.item.staged", account_id=user_id, now=now, **item.event_members())
    return item


def item_page(items: QuerySet[StagedItem], *, limit: int, offset: int) -> tuple[list[StagedItem], int]:
    """Return a page of these items, newest first, and how many there are."""
    page = items.order_by("-id").values("id")[offset : offset + limit]
    return list(StagedItem.objects.filter(id__in=page).order_by("-id")), items.count()


def approve_item(item_id: str, *, actor: Actor, now: datetime) -> tuple[StagedItem, str]:
    """Make an own staged item permanent; return it and the row's id. Raises StagedItemNotFound, also if decided."""
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
    return _decide_all(_approve, actor=actor, now=now)


def reject_all(*, actor: Actor, now: datetime) -> list[UUID]:
    """Reject whatever the actor has in staging now, all of it or nothing; return the items' ids, oldest first."""
    return _decide_all(partial(_decide, status=REJECTED), actor=actor, now=now)


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
    """Yield what is staged now in rounds, locked in the order of ids, so that no two deciders wait for ever."""
    # Never from a copy that lags: what was staged a moment ago is meant, too.
    current = StagedItem.objects.using(router.db_for_write(StagedItem))
    own = current.filter(user_id=actor.user.pk, status=STAGED).order_by("id")
    waiting = list(own.values_list("id", flat=True))
    for start in range(0, len(waiting), ITEMS_PER_STATEMENT):
        chosen = waiting[start : start + ITEMS_PER_STATEMENT]
        if items := list(own.filter(pk__in=chosen).select_for_update()):
            yield items


def _decide_all(decide: Callable[..., Any], *, actor: Actor, now: datetime) -> list[UUID]:
    decided = []
    with transaction.atomic(savepoint=False):
        for items in _take_all(actor):
            decide(items, actor=actor, now=now)
            decided += [item.pk for item in items]
    return decided


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
