"""Access to the back office. Staff have permissions. Members of lenders have a console.

A `Console` (`Declarations.consoles`) contains a member's rights. Members can view only rows that a model's rule selects
(`Declarations.console_rules`). For models without a rule, members get 403.
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
    """A member's rights for one lender. `since` is when the lender's access to records began."""

    provider_id: str
    since: datetime
    decides: bool = False
    owns: bool = False
    name: str = ""
    logo: str = ""  # the path of the logo's file


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
# Links that are rendered without a request need the current user's console.
viewing: ContextVar[Console | None] = ContextVar("viewing", default=None)


def console_of(user: Any) -> Console | None:
    """Return a member's console, or None for staff. The user instance caches the console."""
    if user.is_staff:
        return None
    console: Console | None = getattr(user, "backoffice_console", None)
    if console is None:
        seats = [seat for of in declared("consoles") if user.is_active for seat in of(user)]
        console = user.backoffice_console = Console(tuple(seats))
    return console


def enters(user: Any) -> bool:
    """Check whether `user` may use the back office. The second factor is not checked."""
    console = console_of(user)
    return console is None or bool(console.seats)


def needs_second_factor(user: Any) -> bool:
    """Check whether the back office requires a second factor from `user`. It always does for members of lenders."""
    return enters(user) and (console_of(user) is not None or settings.BACKOFFICE_SECOND_FACTOR)


@cache
def rules() -> dict[str, Rule]:
    return dict(declared("console_rules"))


def has_rule(model: type[Model]) -> bool:
    return model._meta.label_lower in rules()


def narrowed(rows: QuerySet[Any], user: Any) -> QuerySet[Any]:
    """Filter `rows` by the model's rule for members of lenders. For staff, `rows` stays unchanged."""
    return shown_at(console_of(user), rows)


def shown_at(console: Console | None, rows: QuerySet[Any]) -> QuerySet[Any]:
    if console is None:
        return rows
    rule = rules().get(rows.model._meta.label_lower)
    return rows.filter(rule(console)) if rule is not None and console.seats else rows.none()


def may(user: Any, permission: str) -> bool:
    """Check whether `user` has a permission in the back office.

    Staff have Django's permissions. Members of lenders have the permissions of their console.
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
    return any(seat.decides for seat in console.seats) and permission in declared("console_permissions")


def sides_of(user: Any, provider_id: Any = None) -> Collection[str]:
    """Return the lenders for which `user` can write a row.

    If `provider_id` is one of these lenders, return only `provider_id`. For staff, return only "".
    """
    console = console_of(user)
    if console is None:
        return ("",)
    return [provider for provider in console.providers if provider == str(provider_id)] or console.providers


def of_provider(name: str) -> Rule:
    """Return a rule for rows with a lender's ID in the column or lookup `name`."""
    return lambda console: Q(**{f"{name}__in": console.providers})


# Members who decide for a lender write the lender's reply templates.
PERMISSIONS = tuple(f"backoffice.{verb}_replytemplate" for verb in ("add", "change", "delete"))
RULES = {
    f"backoffice.{model}": of_provider("provider") for model in ("note", "assignment", "dataaccess", "replytemplate")
}
