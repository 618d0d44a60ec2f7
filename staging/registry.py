"""The API of staging for other apps.

The app that owns a permanent table declares its kind in `staged_kinds` of its AppConfig, and stages items with
`stage_items`. Staging imports no other app.
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

# The maximum number of items per statement, and of payloads per call of a store function.
ITEMS_PER_STATEMENT = 1_000

Payload = dict[str, Any]


class Store(Protocol):
    def __call__(self, payloads: Sequence[Payload], *, actor: Actor, now: datetime) -> Sequence[Any]:
        """Store the payloads of the actor's own items. Return the IDs of the permanent rows in the same order.

        The function runs in the transaction that approves the items. The argument has at most ITEMS_PER_STATEMENT
        payloads, oldest item first. The number of SQL statements must not depend on the number of payloads. An
        exception rolls back all approvals. The function emits the events of the new rows.
        """
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of staged items.

    `payload` validates an item's payload, and its validated values must be JSON values. `attest` adds an account ID to
    the payload of an item that an app stages. Clients can't send this ID, because `payload` has no such field.
    Therefore, `store` can distinguish the items of apps from the items of clients.
    """

    name: str
    payload: "type[RequestSerializer]"
    store: Store
    attest: Callable[[Payload, int], Payload] | None = None


@cache
def kinds() -> dict[str, Kind]:
    return {kind.name: kind for kind in sorted(declared("staged_kinds"), key=lambda kind: kind.name)}


def stage_items(*, user_id: int, items: Iterable[tuple[str, Payload]], source: str | None, now: datetime) -> list[UUID]:
    """Stage items for an account to approve or reject. Return their IDs in the same order.

    Each of `items` is (kind, payload), and the kind validates the payload. `source` is the origin of the items (1 to
    255 characters, or None). Stages all items or none, with at most three statements per ITEMS_PER_STATEMENT items.
    Raises ValidationFailed for an invalid payload, and KeyError for an unknown kind.
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
