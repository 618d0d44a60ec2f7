"""State machines with declared transitions and a history. Only `transition_to` writes a status.

An app declares a `Machine` and an append-only history, and derives its model from `StatefulModel`. In one transaction,
`transition_to` compares and sets the status, sets derived columns, writes the history row, calls the followers, and
records the event. If two transitions race, one of them fails.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models, transaction

from config.core.audit import ocsf_user
from config.core.errors import ApiError
from config.core.ids import uuid7
from config.core.json_text import JsonTextField


class Role(StrEnum):
    OWNER = "owner"
    REVIEWER = "reviewer"  # has permission to decide
    EITHER = "either"
    SYSTEM = "system"  # a management command, never a request


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor of a transition. All values were authenticated."""

    user: Any  # the account, or None for the system and for a scoring model
    credential: str  # for example `api_key:4fT…`, `admin`, `command:expire_applications`
    second_factor: bool = False  # True if the log-in used a second factor
    limited: bool = False  # True for a scoped credential, which can't make decisions
    is_model: bool = False  # True for a scoring model, which can make only the transitions that the record permits

    @property
    def is_system(self) -> bool:
        return self.user is None and not self.is_model

    @property
    def lacks_second_factor(self) -> bool:
        """Check whether the log-in lacks the second factor that staff and lenders' members need.

        With `BACKOFFICE_SECOND_FACTOR=0`, only accounts with an authenticator need a second factor.
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
        """Return the actor for a scoring model's version, such as `7@2`."""
        return cls(user=None, credential=f"model:{version}", is_model=True)


def audit_actor(actor: Actor) -> dict[str, Any]:
    """Return an actor in the format of the audit stream: an account with its credential, a command, or a model."""
    if actor.user is None:
        return {"app_name": actor.credential}
    return {"user": ocsf_user(actor.user.pk, actor.credential)}


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
        return self.transitions.get(status, {})  # empty for a status of another version


class ReviewerRequired(ApiError):
    status, error, code = 403, "reviewer_required", "E2010"
    message = "This operation requires a reviewer."


class SecondFactorRequired(ApiError):
    status, error, code = 403, "second_factor_required", "E2012"
    message = (
        "This operation requires a log-in with a second factor. Add an authenticator app at /account/second-factor, "
        "and send its code as `otp` to POST /v1/auth/token. You can also use an API key or an app, if you created the "
        "key or authorized the app in a log-in with a second factor. A key from the command `create_api_key` is not "
        "sufficient."
    )


class RecordNotEditable(ApiError):
    error, code, stored = "record_not_editable", "E3004", True
    message = "The record's status does not allow this change."


class InvalidTransition(ApiError):
    """The record's status does not allow the transition. Each machine has a subclass with a separate code."""

    @classmethod
    def between(cls, record: "StatefulModel", to: str) -> Self:
        allowed = record.requestable()
        return cls(
            f"Can't change the status of {record._meta.verbose_name} {record.pk} from `{record.status}` to `{to}`. "
            f"Allowed: {', '.join(f'`{status}`' for status in allowed) or 'none'}.",
            details={"from": record.status, "to": to, "allowed": allowed},
        )


class StatusHistory(models.Model):
    """A status change. The caller chooses `changed_by`. `principal` and `credential` are authenticated."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    position = models.PositiveIntegerField(help_text="The number of the status change, from 1.")
    status = models.CharField(max_length=32, help_text="The new status.")
    previous_status = models.CharField(max_length=32, help_text="The status before the change.")
    changed_by = models.CharField(
        max_length=255,
        help_text="The author of the change: the `updated_by` of the API request, or the user name in the back office "
        "and the lender console. Otherwise, the account's `user_id`, `model:<id>@<version>`, or `system`.",
    )
    changed_at = models.DateTimeField(help_text="When the application or claim got the status (UTC).")
    reason = models.TextField(null=True, help_text="A human-readable reason. Null if there is none.")  # noqa: DJ001  null and "" differ in the API
    metadata = JsonTextField(null=True, help_text="The `metadata` of the request, as sent; null if there is none.")
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
    # Histories with reason codes override this attribute.
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
    # The record that the transition completes, such as a counteroffer. The creation of this record was the decision.
    completes: Any = None


@dataclass(frozen=True, slots=True)
class Follower:
    """An action of another package in the transaction of a transition.

    The app's `ready` sets the followers of a model, so that the model does not import other packages.
    """

    # The statuses that trigger the action, after a transition or a creation. None means every status.
    to: Collection[str] | None = None
    # Returns further columns to set, or raises ApiError to reject the transition, before the first write.
    before: Callable[[Any, Transition], Mapping[str, Any]] | None = None
    # The arguments are the written record, its history row, and the transition.
    after: Callable[[Any, Any, Transition], None] | None = None
    # The arguments are the created record and the time.
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
    """A record whose status changes only through `transition_to`.

    A model defines `machine`, the error `invalid_transition`, and a `StatusHistory` whose foreign key to the model has
    the related name `history`. The model implements `check_transition`, `require_reasons`, `derived_columns`, and
    `record_transition`. The `ready` of its app calls `set_followers` once, with the actions of other packages in order.
    """

    machine: ClassVar[Machine]
    invalid_transition: ClassVar[type[InvalidTransition]]
    followers: ClassVar[tuple[Follower, ...]] = ()
    # These functions write a transition and its history row.
    update_row: ClassVar[Callable[..., int]] = _update
    insert_row: ClassVar[Callable[[Any], None]] = _insert
    status: Any

    moves = models.PositiveIntegerField(default=0, help_text="The number of status changes.")
    updated_at = models.DateTimeField(help_text="When the record was last changed (UTC).")

    class Meta:
        abstract = True

    def requestable(self) -> list[str]:
        """Return the statuses that users can request now."""
        return [to for to, role in self.machine.moves_from(self.status).items() if role is not Role.SYSTEM]

    def check_transition(self, to: str, actor: Actor) -> ApiError | None:
        raise NotImplementedError

    def require_reasons(self, to: str, *, reason: str | None, metadata: Any) -> None:
        """Raise ApiError if a required reason is missing. A proposal of the transition also calls this method."""

    def derived_columns(self, transition: Transition) -> dict[str, Any]:
        """Return further columns that a transition sets. Raises ApiError if required data is missing."""
        raise NotImplementedError

    def record_transition(self, row: Any) -> None:
        """Record the model's own event for a transition. `row` is the history row."""

    @classmethod
    def set_followers(
        cls,
        followers: tuple[Follower, ...],
        *,
        update_row: Callable[..., int] = _update,
        insert_row: Callable[[Any], None] = _insert,
    ) -> None:
        """Set the actions that follow this model's transitions. An app's `ready` calls this method once.

        A model that changes often passes functions with prepared statements (`config.core.prepared`).
        """
        cls.followers, cls.update_row, cls.insert_row = followers, update_row, insert_row

    def follow_creation(self, now: datetime) -> None:
        """Call the followers of this record's creation, in the transaction that creates the record."""
        for follower in self.followers:
            if follower.created is not None and (follower.to is None or self.status in follower.to):
                follower.created(self, now)

    def write_transition(self, as_read: Mapping[str, Any], columns: Mapping[str, Any]) -> int:
        """Set `columns` if the stored record equals `as_read`. Returns 1, or 0 if another transition came first."""
        return type(self).update_row(type(self), where=as_read, values=columns)

    def lost_race(self, to: str) -> Exception:
        """Reload the record, and return the error for a transition that lost a race."""
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
        """Change the status, write the history row and the event, and update this instance. Return the history row.

        `changed_by` is the caller's text, by default the actor's ID. `changes` are further columns to set. `completes`
        is the record that the transition completes, such as a counteroffer. With `completes`, `check_transition` is
        not called, because the creation of that record called it. The caller opens the transaction, which remains
        usable after an error. Raises the error of `check_transition`, or of `lost_race` after a concurrent change.
        """
        if completes is None and (refusal := self.check_transition(to, actor)):
            raise refusal
        self.require_reasons(to, reason=reason, metadata=metadata)
        if not transaction.get_connection().in_atomic_block:
            raise transaction.TransactionManagementError("A status changes inside a transaction.")
        # The times in the history must increase, even if the clock was set back.
        now, changed_by = max(now, self.updated_at), actor.name if changed_by is None else changed_by
        transition = Transition(to, actor, changed_by, now, reason, metadata, completes)
        columns = {"status": to, "moves": self.moves + 1, "updated_at": now, **self.derived_columns(transition)}
        followers = [follower for follower in self.followers if follower.to is None or to in follower.to]
        for follower in followers:
            if follower.before is not None:
                columns |= follower.before(self, transition)
        columns |= changes or {}
        # Compare `moves`, because the record may have changed and returned to this status.
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
