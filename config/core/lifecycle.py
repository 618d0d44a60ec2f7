"""State machines: declared transitions, a history row for each one made, and the one function that writes a status.

An app declares a `Machine` and an append-only history, and derives its model from `StatefulModel`. `transition_to` does
the rest in one transaction: compare-and-set on what was read, derived columns, history row, followers, event. If two
transitions race, one finds the row as it read it, and the other fails.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models, transaction

from config.core.audit import person
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import JsonTextField


class Role(StrEnum):
    OWNER = "owner"  # the owner of the record
    REVIEWER = "reviewer"  # a reviewer with the right to decide
    EITHER = "either"
    SYSTEM = "system"  # a management command, never a request


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor, as the platform knows it: no client chooses any of it."""

    user: Any  # the user, or None for the system and for a scoring model
    credential: str  # for example `api_key:4fT…`, `admin`, `command:expire_applications`
    second_factor: bool = False  # whether the log-in was made with one
    limited: bool = False  # the credential is limited to scopes, and scopes decide nothing
    is_model: bool = False  # a scoring model, which decides where a machine's record lets it

    @property
    def is_system(self) -> bool:
        return self.user is None and not self.is_model

    @property
    def lacks_second_factor(self) -> bool:
        """Return whether this log-in lacks the second factor that staff and lenders' members need.

        With `BACKOFFICE_SECOND_FACTOR=0` only accounts that have an authenticator need it.
        """
        if self.second_factor or self.user is None:
            return False
        return settings.BACKOFFICE_SECOND_FACTOR or bool(self.user.authenticator_set.exists())

    @property
    def name(self) -> str:
        if self.is_model:
            return self.credential
        return "system" if self.user is None else str(self.user.pk)

    @classmethod
    def system(cls, command: str) -> "Actor":
        return cls(user=None, credential=f"command:{command}")

    @classmethod
    def model(cls, version: str) -> "Actor":
        """Return the actor of decisions by a version of a scoring model, `7@2`."""
        return cls(user=None, credential=f"model:{version}", is_model=True)


def audit_actor(actor: Actor) -> dict[str, Any]:
    """Return an actor in the form of the audit stream: an account with its credential, a command, or a model."""
    if actor.user is None:
        return {"app_name": actor.credential}
    return {"user": person(actor.user.pk, actor.credential)}


def actor_of(request: Any) -> Actor:
    return Actor(
        user=request.user,
        credential=request.auth.label,
        second_factor=request.auth.second_factor,
        limited=request.auth.scopes is not None,
    )


@dataclass(frozen=True, slots=True)
class Machine:
    transitions: Mapping[str, Mapping[str, Role]]

    @property
    def statuses(self) -> tuple[str, ...]:
        return tuple(self.transitions)

    def moves_from(self, status: str) -> Mapping[str, Role]:
        return self.transitions.get(status, {})  # none from a status of another version


class ReviewerRequired(ApiError):
    status, error, code = 403, "reviewer_required", "E2010"
    message = "Only a reviewer can make this decision."


class SecondFactorRequired(ApiError):
    status, error, code = 403, "second_factor_required", "E2012"
    message = (
        "This operation requires a log-in with a second factor. Add an authenticator at /account/second-factor, "
        "and send its code as `otp` to POST /v1/auth/token. Or use an API key or an app that was created in such "
        "a log-in. A key from the command `create_api_key` does not count."
    )


class RecordNotEditable(ApiError):
    error, code, stored = "record_not_editable", "E3004", True
    message = "The record's status does not allow this change."


class InvalidTransition(ApiError):
    """A transition that the record's status does not allow now; each machine has its own, with a code."""

    @classmethod
    def between(cls, record: "StatefulModel", to: str) -> Self:
        allowed = record.requestable()
        return cls(
            f"Can't change the status of {record._meta.verbose_name} {record.pk} from `{record.status}` to `{to}`. "
            f"Allowed: {', '.join(f'`{status}`' for status in allowed) or 'none'}.",
            details={"from": record.status, "to": to, "allowed": allowed},
        )


class StatusHistory(models.Model):
    """One move. `changed_by` is the name that the caller gave; `principal` and `credential` were authenticated."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    position = models.PositiveIntegerField(help_text="The number of the status change, from 1.")
    status = models.CharField(max_length=32, help_text="The status that was entered.")
    previous_status = models.CharField(max_length=32, help_text="The status before the change.")
    changed_by = models.CharField(max_length=255, help_text="The caller's `updated_by`, as sent.")
    changed_at = models.DateTimeField(help_text="When the status was entered (UTC).")
    reason = models.TextField(null=True, help_text="The reason, for people to read; null for none.")  # noqa: DJ001  null and "" are different answers of the interface
    metadata = JsonTextField(null=True, help_text="The `metadata` of the request, as sent; null for none.")
    principal = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        help_text="The authenticated account that acted; null for the system.",
    )
    credential = models.CharField(
        max_length=80, help_text="The credential that was used, such as `api_key:…` or `jwt:…`."
    )
    # A code that follows from the transition; a history with such codes overrides this.
    reason_code: Any = None

    class Meta:
        abstract = True
        ordering = ["position"]

    def __str__(self) -> str:
        return f"{self.previous_status} → {self.status}"


@dataclass(frozen=True, slots=True)
class Transition:
    to: str
    actor: Actor
    changed_by: str
    now: datetime
    reason: str | None = None
    metadata: Any = None
    # The record that the transition completes, such as a counteroffer. The decision was made with that record.
    completes: Any = None


@dataclass(frozen=True, slots=True)
class Follower:
    """An action that follows from the transitions of a model's records, in the transaction of each transition.

    The model's `followers` are a list above it: so the model imports nothing of what follows from its transitions.
    """

    # The statuses whose entry the action follows, also by a creation; None for every status.
    to: Collection[str] | None = None
    # Returns further columns to set. Raises ApiError to refuse the transition. Nothing is written yet.
    before: Callable[[Any, Transition], Mapping[str, Any]] | None = None
    # Receives the record as written, the row of its history, and the transition.
    after: Callable[[Any, Any, Transition], None] | None = None
    # Receives a record that was created, and when. The service that creates records calls `follow_creation`.
    created: Callable[[Any, datetime], None] | None = None


@cache
def _history_of(model: type[models.Model]) -> tuple[type[StatusHistory], str]:
    relation: Any = model._meta.get_field("history")
    return relation.related_model, relation.field.name


def _update(model: Any, *, where: Mapping[str, Any], values: Mapping[str, Any]) -> int:
    return int(model._default_manager.filter(**where).update(**values))


def _insert(row: models.Model) -> None:
    row.save(force_insert=True)


class StatefulModel(models.Model):
    """A record whose status only `transition_to` changes.

    A model gives its `machine`; a `StatusHistory` whose foreign key to it has the related name `history`; the error
    `invalid_transition`; `check_transition`; what has to be said for a transition, `require_reasons`; and what
    follows in the model itself: `derived_columns` and `record_transition`. The app's configuration sets `followers`
    once, in `ready` (`set_followers`): what follows in other packages, in order.
    """

    machine: ClassVar[Machine]
    invalid_transition: ClassVar[type[InvalidTransition]]
    followers: ClassVar[tuple[Follower, ...]] = ()
    # Write a transition and its history.
    update_row: ClassVar[Callable[..., int]] = _update
    insert_row: ClassVar[Callable[[Any], None]] = _insert
    status: Any

    moves = models.PositiveIntegerField(default=0, help_text="The number of status changes.")
    updated_at = models.DateTimeField(help_text="When the record was last changed (UTC).")

    class Meta:
        abstract = True

    def requestable(self) -> list[str]:
        """Return where people can move the record from where it is."""
        return [to for to, role in self.machine.moves_from(self.status).items() if role is not Role.SYSTEM]

    def check_transition(self, to: str, actor: Actor) -> ApiError | None:
        raise NotImplementedError

    def require_reasons(self, to: str, *, reason: str | None, metadata: Any) -> None:
        """Raise ApiError for a transition without its required reasons; this also checks a proposal."""

    def derived_columns(self, transition: Transition) -> dict[str, Any]:
        """Return the further columns that a transition sets; raises ApiError when it lacks something."""
        raise NotImplementedError

    def record_transition(self, row: Any) -> None:
        """Write what the model itself adds to a transition, of which `row` is the history: its event."""

    @classmethod
    def set_followers(
        cls,
        followers: tuple[Follower, ...],
        *,
        update_row: Callable[..., int] = _update,
        insert_row: Callable[[Any], None] = _insert,
    ) -> None:
        """Set what follows from the transitions of this model's records. An app's `ready` calls it once.

        A model that changes often is written by prepared statements (`config.core.prepared`).
        """
        cls.followers, cls.update_row, cls.insert_row = followers, update_row, insert_row

    def follow_creation(self, now: datetime) -> None:
        """Call what follows from the creation of this record. Call it in the transaction that stores the record."""
        for follower in self.followers:
            if follower.created is not None and (follower.to is None or self.status in follower.to):
                follower.created(self, now)

    def write_transition(self, as_read: Mapping[str, Any], columns: Mapping[str, Any]) -> int:
        """Set the columns where the stored record is `as_read`; return the number of records, 0 for a lost race."""
        return type(self).update_row(type(self), where=as_read, values=columns)

    def lost_race(self, to: str) -> Exception:
        """Return the error of a transition that lost a race; the record is reloaded."""
        self.refresh_from_db(fields=["status", "moves"])
        return self.invalid_transition.between(self, to)

    def transition_to(
        self,
        to: str,
        *,
        actor: Actor,
        now: datetime,
        changed_by: str | None = None,
        reason: str | None = None,
        metadata: Any = None,
        changes: Mapping[str, Any] | None = None,
        completes: Any = None,
    ) -> Any:
        """Change the status, with its history row and its event; return the row. The record in memory follows.

        `changed_by` is the name that the caller gave, by default the actor's id. `changes` are columns that belong to
        this transition. The creator of the record `completes` passed `check_transition` then, so it is not called
        again. Call this in a transaction, with what belongs to it. Raises what `check_transition` returns, and what
        `lost_race` returns when the stored record is no longer as it was read; the transaction stays usable.
        """
        if completes is None and (refusal := self.check_transition(to, actor)):
            raise refusal
        self.require_reasons(to, reason=reason, metadata=metadata)
        if not transaction.get_connection().in_atomic_block:
            raise transaction.TransactionManagementError("A status changes inside a transaction.")
        # A clock that was set back must not reverse the order of the history.
        now, changed_by = max(now, self.updated_at), actor.name if changed_by is None else changed_by
        transition = Transition(to, actor, changed_by, now, reason, metadata, completes)
        columns = {"status": to, "moves": self.moves + 1, "updated_at": now, **self.derived_columns(transition)}
        followers = [follower for follower in self.followers if follower.to is None or to in follower.to]
        for follower in followers:
            if follower.before is not None:
                columns |= follower.before(self, transition)
        columns |= changes or {}
        # The counter, too: a record that meanwhile left its status and returned to it has changed.
        if not self.write_transition({"pk": self.pk, "status": self.status, "moves": self.moves}, columns):
            raise self.lost_race(to)
        history, parent = _history_of(type(self))
        row = history(
            **{parent: self},
            position=self.moves + 1,
            status=to,
            previous_status=self.status,
            changed_by=changed_by,
            changed_at=now,
            reason=reason,
            metadata=metadata,
            principal=actor.user,
            credential=actor.credential,
        )
        type(self).insert_row(row)
        for name, value in columns.items():
            setattr(self, name, value)
        for follower in followers:
            if follower.after is not None:
                follower.after(self, row, transition)
        self.record_transition(row)
        return row
