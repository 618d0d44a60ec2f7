"""Queries that read applications in the form of `ApplicationSerializer`."""

from functools import cache
from typing import Any

from config.api.pagination import Shown, fitting
from config.core.ids import parse_uuid
from config.core.sizes import number_that_fits, weight_of
from credit.api.applications.serializers import ApplicationSerializer
from credit.applications.services import select_own, select_page
from credit.models import Application

_COLUMNS = ApplicationSerializer.sources()
_read_own = select_own(_COLUMNS).first


def show_application(application_id: str, user: Any) -> dict[str, Any] | None:
    """Return the response for the user's own application, in one query; None for other applications."""
    identifier = parse_uuid(application_id)
    row = _read_own(application_id=identifier, consumer_id=user.pk) if identifier else None
    return None if row is None else ApplicationSerializer.represent_values(row)


@cache
def _listing(filters: tuple[str, ...]) -> Any:
    return select_page(_COLUMNS, filters)


@cache
def _sizes(filters: tuple[str, ...]) -> Any:
    return select_page(("size",), filters, size=weight_of(Application, _COLUMNS))


def list_applications(*, consumer_id: int, limit: int, offset: int, **filters: Any) -> Shown:
    """Return a page of responses, newest first, cut at the maximum size of a response."""
    names, is_cut = tuple(sorted(filters)), False
    if limit > ApplicationSerializer.unweighed:
        sizes = _sizes(names).rows(consumer_id=consumer_id, limit=limit, offset=offset, **filters)
        fits = number_that_fits(size for (size,) in sizes)
        limit, is_cut = min(limit, fits), fits < len(sizes)
    rows = _listing(names).rows(consumer_id=consumer_id, limit=limit, offset=offset, **filters)
    shown = fitting(map(ApplicationSerializer.represent_values, rows))
    return Shown(shown.rows, is_cut or shown.is_cut)
