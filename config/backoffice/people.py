"""Lines about an account on the account's page (`Declarations.person_lines`)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, Model
from django.urls import reverse
from django.utils.http import urlencode

from config.backoffice.consoles import console_of, may, narrowed, viewing
from config.backoffice.html import link, words
from config.core.registration import declared
from config.mail.addresses import comparable

Line = tuple[str, Any]
Source = Callable[[int, Any], Iterable[Line]]  # returns the lines that the viewer may see, with at most one query


@dataclass(frozen=True, slots=True)
class Table:
    """A table on the page of an account. `more` is the URL of a list with all rows."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    empty: str
    more: str = ""

    @property
    def labeled_rows(self) -> list[list[tuple[str, Any]]]:
        """Return each value with its column title. Narrow screens display the title next to the value."""
        return [list(zip(self.head, row, strict=True)) for row in self.rows]


def tables_about(person_id: int, *, viewer: Any) -> list[Table]:
    """Return the tables of all apps about an account, without tables that the viewer may not see."""
    tables = [table(person_id, viewer) for table in declared("person_tables")]
    return [table for table in tables if table is not None]


def lines_about(person_id: int, *, viewer: Any, beside: bool = False) -> list[Line]:
    """Return all lines about an account. With `beside`, return only the lines for pages of other apps' records."""
    sources: list[Source] = declared("case_lines" if beside else "person_lines")
    return [line for source in sources for line in source(person_id, viewer)]


def person_name(user: Any) -> str:
    """Return the name of an account.

    In lender consoles, this is the full name of an account that is not staff. Otherwise, it is the user name.
    Account names are personal data, but pages of other records do not mask them.
    """
    if viewing.get() is None or user.is_staff:
        return str(user.get_username())
    return str(user.get_full_name() or user.get_username())


def find_people(typed: str, viewer: Any) -> set[int]:
    """Return the IDs of accounts with this name, email address, or phone number in records that the viewer may see.

    Staff also find accounts by the email address of the account itself.
    """
    people = {person_id for find in declared("person_finders") for person_id in find(typed, viewer)}
    return people | find_accounts(typed, viewer)


def find_accounts(typed: str, viewer: Any) -> set[int]:
    """Return the IDs of accounts with this email address. Members of lenders find no accounts."""
    if "@" not in typed or console_of(viewer) is not None:  # members of lenders must not enumerate accounts
        return set()
    return set(get_user_model()._default_manager.filter(email=comparable(typed)).values_list("pk", flat=True))


def by_status(name: str, model: type[Model], *, owner: str = "user") -> Source:
    """Return a line with the number of an account's records by status, and a link to their list.

    Viewers without permission for the records get no line.
    """
    options = model._meta

    def source(person_id: int, viewer: Any) -> list[Line]:
        if not may(viewer, f"{options.app_label}.view_{options.model_name}"):
            return []
        rows = narrowed(model._default_manager.filter(**{f"{owner}_id": person_id}).order_by(), viewer)
        counted = dict(rows.values_list("status").annotate(Count("pk")))
        if not counted:
            return [(name, "none")]
        text = ", ".join(f"{number} {words(status)}" for status, number in sorted(counted.items()))
        address = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
        return [(name, link(f"{address}?{urlencode({'q': f'user:{person_id}'})}", text))]

    return source
