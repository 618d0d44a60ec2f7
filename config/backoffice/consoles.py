"""What each viewer sees in the back office: staff by their permissions, a lender's members by their console.

A person who is not staff has a `Console` (`Declarations.consoles`), and sees the rows of a model that its rule selects
(`Declarations.console_rules`). A model without a rule shows a lender nothing, and every address of it is refused.
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
    logo: str = ""  # its path


@dataclass(frozen=True, slots=True)
class Console:
    seats: tuple[Seat, ...]

    @property
    def providers(self) -> tuple[str, ...]:
        return tuple(seat.provider_id for seat in self.seats)

    def decides_for(self, provider_id: Any) -> bool:
        return any(seat.decides and seat.provider_id == str(provider_id) for seat in self.seats)

    def owns(self, provider_id: Any) -> bool:
        return any(seat.owns and seat.provider_id == str(provider_id) for seat in self.seats)


Rule = Callable[[Console], Q]
# The console of the current user, for links that are rendered without a request.
viewing: ContextVar[Console | None] = ContextVar("viewing", default=None)


def console_of(user: Any) -> Console | None:
    """Return the console of a person who is not staff, looked up once a request; None for staff."""
    if user.is_staff:
        return None
    console: Console | None = getattr(user, "backoffice_console", None)
    if console is None:
        seats = [seat for of in declared("consoles") if user.is_active for seat in of(user)]
        console = user.backoffice_console = Console(tuple(seats))
    return console


def enters(user: Any) -> bool:
    """Return whether `user` may use the back office, after the required second factor."""
    console = console_of(user)
    return console is None or bool(console.seats)


def needs_second_factor(user: Any) -> bool:
    """Return whether the back office requires the second factor of `user`: always of a lender's members."""
    return enters(user) and (console_of(user) is not None or settings.BACKOFFICE_SECOND_FACTOR)


@cache
def deciding() -> frozenset[str]:
    """Return the permissions on a provider's records of those who decide for it."""
    return frozenset(declared("console_permissions"))


@cache
def rules() -> dict[str, Rule]:
    """Return the rule of each model that has one, by its label."""
    return dict(declared("console_rules"))


def has_rule(model: type[Model]) -> bool:
    return model._meta.label_lower in rules()


def narrowed(rows: QuerySet[Any], user: Any) -> QuerySet[Any]:
    """Leave what `user` may see: for staff everything, for a lender's people what the model's rule selects."""
    return shown_at(console_of(user), rows)


def shown_at(console: Console | None, rows: QuerySet[Any]) -> QuerySet[Any]:
    if console is None:
        return rows
    rule = rules().get(rows.model._meta.label_lower)
    return rows.filter(rule(console)) if rule is not None and console.seats else rows.none()


def may(user: Any, permission: str) -> bool:
    """Return whether `user` has a permission at the back office: staff by Django's permissions, others only by their
    console.
    """
    console = console_of(user)
    if console is None:
        return bool(user.has_perm(permission))
    app_label, _, name = permission.partition(".")
    verb, _, model = name.partition("_")
    if verb == "view" and permission != VIEW:
        return bool(console.seats) and f"{app_label}.{model}" in rules()
    if permission in {VIEW, EXPORT}:
        return bool(console.seats)
    return any(seat.decides for seat in console.seats) and permission in deciding()


def sides_of(user: Any, provider_id: Any = None) -> Collection[str]:
    """Return for which providers `user` writes something down: "" for staff; for a record of a provider that one."""
    console = console_of(user)
    if console is None:
        return ("",)
    return [one for one in console.providers if one == str(provider_id)] or console.providers


def of_provider(name: str) -> Rule:
    """Return the rule of rows that name their provider in a column, or in one of a related row."""
    return lambda console: Q(**{f"{name}__in": console.providers})


# The console's own records: a lender's reviewers write its reply templates.
PERMISSIONS = tuple(f"backoffice.{verb}_replytemplate" for verb in ("add", "change", "delete"))
RULES = {
    f"backoffice.{model}": of_provider("provider") for model in ("note", "assignment", "dataaccess", "replytemplate")
}
