"""Prepared statements that read columns of applications."""

from collections.abc import Sequence
from typing import Any

from config.core.prepared import PreparedSelect
from credit.models import Application


def select_own(columns: Sequence[str]) -> PreparedSelect:
    """Return the statement that reads the application `application_id` of the account `consumer_id`."""
    return PreparedSelect(
        lambda application_id, consumer_id: Application.objects.filter(pk=application_id, consumer_id=consumer_id),
        columns,
    )


def select_page(columns: Sequence[str], filters: Sequence[str], **annotations: Any) -> PreparedSelect:
    """Return the statement that reads a page of an account's applications, the newest first.

    Its arguments are `consumer_id`, the filters, `limit` and `offset`.
    """

    def page(*, limit: int, offset: int, **conditions: Any) -> Any:
        # The ids of the page come from an index alone: an offset costs index entries and no rows.
        ids = Application.objects.filter(**conditions).order_by("-id").values("id")[offset : offset + limit]
        return Application.objects.filter(id__in=ids).order_by("-id").annotate(**annotations)

    return PreparedSelect(page, columns, arguments=("consumer_id", *filters, "limit", "offset"))
