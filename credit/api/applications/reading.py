"""Reads applications as the serializer shows them, by prepared statements."""

from functools import cache
from typing import Any

from config.api.pagination import Shown, fitting, number_that_fits, weight_of
from config.core.ids import parse_uuid
from config.core.prepared import PreparedSelect
from credit.api.applications.serializers import ApplicationSerializer
from credit.models import Application

_read_own = PreparedSelect(
    lambda application_id, consumer_id: Application.objects.filter(pk=application_id, consumer_id=consumer_id),
    ApplicationSerializer.sources(),
).first


def show_application(application_id: str, user: Any) -> dict[str, Any] | None:
    """Return the answer for one of the user's own applications, in one query; None when it is not theirs."""
    identifier = parse_uuid(application_id)
    row = _read_own(application_id=identifier, consumer_id=user.pk) if identifier else None
    return None if row is None else ApplicationSerializer.represent_values(row)


def _page(*, limit: int, offset: int, **given: Any) -> Any:
    """Select a page by its ids, which come from an index alone: an offset costs index entries and not rows."""
    page = Application.objects.filter(**given).order_by("-id").values("id")[offset : offset + limit]
    return Application.objects.filter(id__in=page).order_by("-id")


@cache
def _listing(filters: tuple[str, ...]) -> PreparedSelect:
    arguments = ("consumer_id", *filters, "limit", "offset")
    return PreparedSelect(_page, ApplicationSerializer.sources(), arguments=arguments)


@cache
def _sizes(filters: tuple[str, ...]) -> PreparedSelect:
    size = weight_of(Application, ApplicationSerializer.sources())
    arguments = ("consumer_id", *filters, "limit", "offset")
    return PreparedSelect(lambda **given: _page(**given).annotate(size=size), ("size",), arguments=arguments)


def list_applications(*, consumer_id: int, limit: int, offset: int, **filters: Any) -> Shown:
    """Return a page of answers, newest first, without those that an answer has no room for."""
    names, is_cut = tuple(sorted(filters)), False
    if limit > ApplicationSerializer.unweighed:
        sizes = _sizes(names).rows(consumer_id=consumer_id, limit=limit, offset=offset, **filters)
        fits = number_that_fits(size for (size,) in sizes)
        limit, is_cut = min(limit, fits), fits < len(sizes)
    rows = _listing(names).rows(consumer_id=consumer_id, limit=limit, offset=offset, **filters)
    shown = fitting(map(ApplicationSerializer.represent_values, rows))
    return Shown(shown.rows, is_cut or shown.is_cut)
