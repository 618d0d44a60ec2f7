"""The state-machine kit: declared transitions, a history row per move, and the one function that writes a status.

A room declares a `Machine` and an append-only history model, and gives its model a method that decides who may move
it. `write_move` does the rest in one transaction: compare-and-set on the status that was read, derived columns,
history row. Of two racing moves one finds the row as it read it, the other gets `LostRace`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.db import models, transaction

from config.api.compiled import CompiledInsert, CompiledUpdate
from config.api.documents import DocumentField
from config.api.errors import ApiError
from config.api.ids import uuid7


class Role(StrEnum):
    """Who a transition belongs to."""

    OWNER = "owner"  # the person whose record it is
    REVIEWER = "reviewer"  # somebody who may decide about it
    EITHER = "either"
    SYSTEM = "system"  # a management command, never a request


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, as the platform knows it: nothing here is chosen by a client."""

    user: Any  # the user, or None for the system
    credential: str  # for example `api_key:4fT…`, `admin`, `command:expire_applications`

    @property
    def is_system(self) -> bool:
        """Say whether a management command acts."""
        return self.user is None

    @classmethod
    def system(cls, command: str) -> "Actor":
        """Return the actor for a management command."""
        return cls(user=None, credential=f"command:{command}")


@dataclass(frozen=True, slots=True)
class Machine:
    """Statuses and the transitions between them, as data."""

    transitions: Mapping[str, Mapping[str, Role]]

    @property
    def statuses(self) -> tuple[str, ...]:
        """Return every status, in the order of declaration."""
        return tuple(self.transitions)

    def moves_from(self, status: str) -> Mapping[str, Role]:
        """Return the statuses that can follow, with the role that each move belongs to."""
        return self.transitions[status]

    def requestable_from(self, status: str) -> list[str]:
        """Return the statuses that a request may ask for next; the system's own moves are not among them."""
        return [to for to, role in self.moves_from(status).items() if role is not Role.SYSTEM]


class ReviewerRequired(ApiError):
    """The move is a reviewer's, and the caller is not the right one."""

    status, error, code = 403, "reviewer_required", "E2010"
    message = "This decision belongs to a reviewer."


class LostRace(Exception):
    """The record was moved by somebody else since it was read."""


class StatusHistory(models.Model):
    """One move: what status was entered, when, why, and by whom in both senses.

    `changed_by` is the name that the caller gave; `principal` and `credential` are who was authenticated.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    position = models.PositiveIntegerField(help_text="1 for the first move of the record.")
    status = models.CharField(max_length=32)
    previous_status = models.CharField(max_length=32)
    changed_by = models.CharField(max_length=255)
    changed_at = models.DateTimeField()
    reason = models.TextField(null=True)  # noqa: DJ001  null and "" are different answers of the interface
    metadata = DocumentField(null=True)
    principal = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    credential = models.CharField(max_length=80)

    class Meta:
        abstract = True
        ordering = ["position"]

    def __str__(self) -> str:
        """Show the move."""
        return f"{self.previous_status} → {self.status}"


History = TypeVar("History", bound=StatusHistory)


@dataclass(frozen=True, slots=True)
class Move:
    """A move that has been decided on: where to, by whom, why, and when."""

    to: str
    actor: Actor
    changed_by: str
    now: datetime
    reason: str | None = None
    metadata: Any = None


@cache
def _mover(model: type[models.Model], columns: tuple[str, ...]) -> CompiledUpdate:
    """Return the compare-and-set that sets these columns."""
    return CompiledUpdate(model, conditions=("pk", "status", "moves"), columns=columns)


@cache
def _appender(history: type[StatusHistory]) -> CompiledInsert:
    """Return what inserts rows of this history."""
    return CompiledInsert(history)


def write_move(record: Any, move: Move, *, history: type[History], parent: str, changes: Mapping[str, Any]) -> History:
    """Move `record` and append its history row; return the row.

    `parent` names the history's foreign key to the record, `changes` are further columns that the move sets. The
    record in memory is updated too. Call it in a transaction, with what belongs to the move. Raises LostRace when the
    stored record is no longer as it was read; the transaction stays usable.
    """
    columns = {"status": move.to, "moves": record.moves + 1, "updated_at": move.now, **changes}
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("A status changes inside a transaction.")
    unmoved = {"pk": record.pk, "status": record.status, "moves": record.moves}
    model: type[models.Model] = type(record)
    if not _mover(model, tuple(columns))(where=unmoved, values=columns):
        raise LostRace
    row = history(
        **{parent: record},
        position=record.moves + 1,
        status=move.to,
        previous_status=record.status,
        changed_by=move.changed_by,
        changed_at=move.now,
        reason=move.reason,
        metadata=move.metadata,
        principal=move.actor.user,
        credential=move.actor.credential,
    )
    _appender(history).record(row)
    for name, value in columns.items():
        setattr(record, name, value)
    return row
