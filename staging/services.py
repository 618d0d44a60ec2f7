from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from config.core.ids import get_by_uuid
from config.core.leases import contain
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.sizes import ByteLength, number_that_fits
from config.ops.failed_items import FailedItems
from config.webhooks.events import record_event, record_events
from staging.errors import StagedItemNotFound
from staging.machine import APPROVED, EXPIRED, REJECTED, STAGED
from staging.models import Approval, Note, StagedItem
from staging.registry import ITEMS_PER_STATEMENT, kinds

STAGED_DAYS = 30  # undecided items expire after this time


def stage_item(*, user_id: int, kind: str, payload: dict[str, Any], source: str | None, now: datetime) -> StagedItem:
    item = StagedItem.of(user_id=user_id, kind=kind, payload=payload, source=source, now=now)
    with transaction.atomic(savepoint=False):
        item.save(force_insert=True)
        record_event("staging.item.staged", account_id=user_id, now=now, **item.event_members())
    return item


def approve_item(item_id: str, *, actor: Actor, now: datetime) -> StagedItem:
    """Approve one of the actor's own staged items. Return the item with its `stored_id`.

    Raises StagedItemNotFound, and RecordNotEditable if no app declares the item's kind any more.
    """
    with transaction.atomic(savepoint=False):
        item = _lock_one(item_id, actor)
        if item.kind not in kinds():
            raise RecordNotEditable(f"Items of the kind `{item.kind}` can no longer be approved. Reject the item.")
        return _approve([item], actor=actor, now=now)[0]


def reject_item(item_id: str, *, actor: Actor, now: datetime) -> StagedItem:
    """Reject one of the actor's own staged items. Raises StagedItemNotFound."""
    with transaction.atomic(savepoint=False):
        return _decide([_lock_one(item_id, actor)], REJECTED, actor=actor, now=now)[0]


def approve_all(*, actor: Actor, now: datetime) -> list[UUID]:
    """Approve all of the actor's staged items or none. Return the items' IDs, oldest first.

    If no app declares an item's kind any more, the item stays staged.
    """
    with transaction.atomic(savepoint=False):
        known = tuple(kinds())
        return [item.pk for items in _lock_all(actor, kind__in=known) for item in _approve(items, actor=actor, now=now)]


def reject_all(*, actor: Actor, now: datetime) -> list[UUID]:
    """Reject all of the actor's staged items or none. Return the items' IDs, oldest first."""
    with transaction.atomic(savepoint=False):
        return [item.pk for items in _lock_all(actor) for item in _decide(items, REJECTED, actor=actor, now=now)]


def expire_staged(*, now: datetime) -> dict[str, int]:
    """Expire items older than STAGED_DAYS, with one transaction per batch. Return the number of expired items."""
    actor = Actor.system("prune")
    old = StagedItem.objects.filter(status=STAGED, staged_at__lte=now - timedelta(days=STAGED_DAYS))
    items = FailedItems("staged_item", old.order_by("staged_at"), lease=timedelta(minutes=1))
    items.review(now=now)
    keys = list(items.takeable(now=now).values_list("pk", flat=True))
    expired = 0
    rounds: Any = [keys[at : at + ITEMS_PER_STATEMENT] for at in range(0, len(keys), ITEMS_PER_STATEMENT)]
    for chosen in chain(rounds, ([key] for key in items.suspects(now=now))):
        with items.mark(chosen):
            try:
                expired += _expire(old.filter(pk__in=chosen), actor, now)
            except Exception as error:  # noqa: BLE001  any item of the batch may have raised it
                contain(error, items.kind, "round")
                for key in chosen:
                    with items.attempt(key, now=now):
                        expired += _expire(old.filter(pk=key), actor, now)
            else:
                items.succeed(chosen)
    return {"staged_items_expired": expired}


def _expire(items: "QuerySet[StagedItem]", actor: Actor, now: datetime) -> int:
    with transaction.atomic():
        locked = list(items.select_for_update(skip_locked=True))  # skips items that another request is deciding
        return len(_decide(locked, EXPIRED, actor=actor, now=now)) if locked else 0


def _lock_one(item_id: str, actor: Actor) -> StagedItem:
    own = StagedItem.objects.select_for_update().filter(user_id=actor.user.pk, status=STAGED)
    return get_by_uuid(own, item_id, StagedItemNotFound)


def _lock_all(actor: Actor, **conditions: Any) -> Iterator[list[StagedItem]]:
    """Yield the actor's staged items in batches that fit into memory.

    Lock them in the order of their IDs to prevent deadlocks.
    """
    own = StagedItem.objects.filter(user_id=actor.user.pk, status=STAGED, **conditions).order_by("id")
    waiting = list(own.values_list("id", ByteLength("payload")))
    while waiting:
        number = number_that_fits(size for _, size in waiting[:ITEMS_PER_STATEMENT])
        chosen, waiting = [pk for pk, _ in waiting[:number]], waiting[number:]
        if items := list(own.filter(pk__in=chosen).select_for_update()):
            yield items


def _approve(items: Sequence[StagedItem], *, actor: Actor, now: datetime) -> Sequence[StagedItem]:
    """Store the payloads of locked items, and mark the items as approved. Return the items with their `stored_id`."""
    by_kind: dict[str, list[StagedItem]] = {}
    for item in items:
        by_kind.setdefault(item.kind, []).append(item)
    for name, members in by_kind.items():
        identifiers = kinds()[name].store([item.payload for item in members], actor=actor, now=now)
        for item, identifier in zip(members, identifiers, strict=True):
            item.stored_id = str(identifier)
    Approval.objects.bulk_create(Approval(item=item, stored_id=item.stored_id) for item in items)
    return _decide(items, APPROVED, actor=actor, now=now)


def _decide(items: Sequence[StagedItem], status: str, *, actor: Actor, now: datetime) -> Sequence[StagedItem]:
    """Set the final status of locked items, and emit their events. No other code changes the status."""
    columns = {"status": status, "decided_at": now, "decided_by": actor.user, "credential": actor.credential}
    undecided = StagedItem.objects.filter(pk__in=[item.pk for item in items], status=STAGED)
    if undecided.update(**columns) != len(items):
        raise StagedItemNotFound
    for item in items:
        for name, value in columns.items():
            setattr(item, name, value)
    events = [(item.user_id, item.event_members()) for item in items]
    record_events(f"staging.item.{status}", events=events, now=now)
    return items


def store_notes(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[UUID]:
    notes = [
        Note(user_id=actor.user.pk, title=payload.get("title"), text=payload["text"], created_at=now)
        for payload in payloads
    ]
    return [note.pk for note in Note.objects.bulk_create(notes)]
