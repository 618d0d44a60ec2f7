"""The API of staging for other apps: they declare the kinds that they own, and stage items.

The app that owns a permanent table declares its kind (`staged_kinds` of its AppConfig) and stages items with
`stage_items`. Staging itself imports no other app.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from django.db import transaction

from config.core.lifecycle import Actor
from config.core.registration import declared
from config.webhooks.events import record_events
from staging.models import StagedItem

if TYPE_CHECKING:
    from config.api.serializers import RequestSerializer

# Maximum items per statement, and maximum payloads per call of a store function.
ITEMS_PER_STATEMENT = 1_000

Payload = dict[str, Any]


class Store(Protocol):
    def __call__(self, payloads: Sequence[Payload], *, actor: Actor, now: datetime) -> Sequence[Any]:
        """Store payloads of `actor.user`'s own items. Return the ids of the permanent rows in the payloads' order.

        It runs in the transaction that approves the items, with at most ITEMS_PER_STATEMENT payloads, oldest item
        first. Its number of statements must not depend on the number of payloads. An exception rolls the whole decision
        back. It emits the events of the new rows.
        """
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of staged items.

    `payload` validates what is staged. Its validated values are stored, so they must be JSON values. `attest` marks a
    validated payload that an app itself stages for an account's id, so that `store` can distinguish it from a client's.
    The mark is not a field of `payload`, so clients can't send it.
    """

    name: str
    payload: "type[RequestSerializer]"
    store: Store
    attest: Callable[[Payload, int], Payload] | None = None


@cache
def kinds() -> dict[str, Kind]:
    return {kind.name: kind for kind in sorted(declared("staged_kinds"), key=lambda kind: kind.name)}


def stage_items(*, user_id: int, items: Iterable[tuple[str, Payload]], source: str | None, now: datetime) -> list[UUID]:
    """Stage items for an account to approve or reject. Return their ids in the same order.

    Each of `items` is (kind, payload). `source` is their origin (1 to 255 characters, or None). Each kind validates its
    payloads. Stages all items or none, with three statements per ITEMS_PER_STATEMENT items at most. Raises
    ValidationFailed for an invalid payload, KeyError for an unknown kind.
    """
    rows = []
    for name, payload in items:
        kind = kinds()[name]
        members = kind.payload.read(payload)
        if kind.attest is not None:
            members = kind.attest(members, user_id)
        rows.append(StagedItem.of(user_id=user_id, kind=name, payload=members, source=source, now=now))
    with transaction.atomic(savepoint=False):
        StagedItem.objects.bulk_create(rows, batch_size=ITEMS_PER_STATEMENT)
        record_events("staging.item.staged", events=[(user_id, row.event_members()) for row in rows], now=now)
    return [row.pk for row in rows]
