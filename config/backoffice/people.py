"""What the platform knows of a person: each app adds its lines, and the person's page shows them together.

    register(claims_of)                                          # in an admin.py

A source takes the person's id and who asks, and returns lines of name and value, those that this viewer may see; it
makes one query at most.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils.http import urlencode

from config.backoffice.html import link, words

Line = tuple[str, Any]

Source = Callable[[int, Any], Iterable[Line]]

_sources: list[tuple[Source, bool]] = []


def register(source: Source, *, for_other_apps: bool = False) -> None:
    """Add lines to a person's page, and with `for_other_apps` to what others show of the person beside a record."""
    _sources.append((source, for_other_apps))


def lines_about(person_id: int, *, viewer: Any, beside: bool = False) -> list[Line]:
    """Return every line about a person, or those that are shown `beside` another app's record."""
    asked = [source for source, for_other_apps in _sources if for_other_apps or not beside]
    return [line for source in asked for line in source(person_id, viewer)]


def by_status(name: str, rows: QuerySet[Any], *, person_id: int, viewer: Any) -> list[Line]:
    """Return how many of the person's records are in which status, linked to their list; nothing without `view`."""
    options = rows.model._meta
    if not viewer.has_perm(f"{options.app_label}.view_{options.model_name}"):
        return []
    counted = dict(rows.order_by().values_list("status").annotate(Count("pk")))
    if not counted:
        return [(name, "none")]
    told = ", ".join(f"{number} {words(status)}" for status, number in sorted(counted.items()))
    address = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
    return [(name, link(f"{address}?{urlencode({'q': f'user:{person_id}'})}", told))]
