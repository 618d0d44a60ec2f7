"""Whom the back office shows what: the platform's staff what their permissions give, a lender's people their own desk.

A person who is not staff has a `Desk` (`Declarations.desks`), and sees the rows of a model that its rule selects
(`Declarations.desk_rules`). A model without a rule shows a lender nothing, and every address of it is refused.
"""

from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Model, Q, QuerySet

from config.core.registration import declared

VIEW, UNMASK = "backoffice.view_personal_data", "backoffice.unmask_personal_data"
UNMASK_ERASED = "backoffice.unmask_erased_data"
EXPORT = "backoffice.export_records"


@dataclass(frozen=True, slots=True)
class Seat:
    """A person's rights for one provider, and the time from which records belong to it."""

    provider_id: str
    since: datetime
    decides: bool = False
    owns: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Desk:
    seats: tuple[Seat, ...]

    @property
    def providers(self) -> tuple[str, ...]:
        return tuple(seat.provider_id for seat in self.seats)

    def decides_for(self, provider_id: Any) -> bool:
        return any(seat.decides and seat.provider_id == str(provider_id) for seat in self.seats)

    def owns(self, provider_id: Any) -> bool:
        return any(seat.owns and seat.provider_id == str(provider_id) for seat in self.seats)


Rule = Callable[[Desk], Q]
# The console of the current user: links are drawn in places that have no request.
viewing: ContextVar[Desk | None] = ContextVar("viewing", default=None)


def desk_of(user: Any) -> Desk | None:
    """Return the desk of a person who is not staff, looked up once a request; None for staff."""
    if user.is_staff:
        return None
    desk: Desk | None = getattr(user, "backoffice_desk", None)
    if desk is None:
        seats = [seat for of in declared("desks") if user.is_active for seat in of(user)]
        desk = user.backoffice_desk = Desk(tuple(seats))
    return desk


def enters(user: Any) -> bool:
    """Return whether `user` may use the back office, after the required second factor."""
    desk = desk_of(user)
    return desk is None or bool(desk.seats)


def needs_second_factor(user: Any) -> bool:
    """Return whether the back office requires the second factor of `user`: always of a lender's members."""
    return enters(user) and (desk_of(user) is not None or settings.BACKOFFICE_SECOND_FACTOR)


@cache
def deciding() -> frozenset[str]:
    """Return the permissions on a provider's records of those who decide for it."""
    return frozenset(declared("desk_permissions"))


@cache
def rules() -> dict[str, Rule]:
    """Return the rule of each model that has one, by its label."""
    return dict(declared("desk_rules"))


def has_rule(model: type[Model]) -> bool:
    return model._meta.label_lower in rules()


def narrowed(rows: QuerySet[Any], user: Any) -> QuerySet[Any]:
    """Leave what `user` may see: for staff everything, for a lender's people what the model's rule selects."""
    return shown_at(desk_of(user), rows)


def shown_at(desk: Desk | None, rows: QuerySet[Any]) -> QuerySet[Any]:
    if desk is None:
        return rows
    rule = rules().get(rows.model._meta.label_lower)
    return rows.filter(rule(desk)) if rule is not None and desk.seats else rows.none()


def may(user: Any, permission: str) -> bool:
    """Return whether `user` has a permission at the back office: staff by Django's permissions, others by their desk
    alone.
    """
    desk = desk_of(user)
    if desk is None:
        return bool(user.has_perm(permission))
    app_label, _, name = permission.partition(".")
    verb, _, model = name.partition("_")
    if verb == "view" and permission != VIEW:
        return bool(desk.seats) and f"{app_label}.{model}" in rules()
    if permission in {VIEW, EXPORT}:
        return bool(desk.seats)
    return any(seat.decides for seat in desk.seats) and permission in deciding()


def sides_of(user: Any, provider_id: Any = None) -> Collection[str]:
    """Return for which providers `user` writes something down: "" for staff; for a record of a provider that one."""
    desk = desk_of(user)
    if desk is None:
        return ("",)
    return [one for one in desk.providers if one == str(provider_id)] or desk.providers


def of_provider(name: str) -> Rule:
    """Return the rule of rows that name their provider in a column, or in one of a related row."""
    return lambda desk: Q(**{f"{name}__in": desk.providers})


# The console's own records: those who decide for a lender write its reply templates.
PERMISSIONS = tuple(f"backoffice.{verb}_replytemplate" for verb in ("add", "change", "delete"))
RULES = {
    f"backoffice.{model}": of_provider("provider") for model in ("note", "assignment", "dataaccess", "replytemplate")
}
