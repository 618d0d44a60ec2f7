import re
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet, UUIDField
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.backoffice.html import chip, code, column, record_link
from config.backoffice.records import ReadOnlyAdmin
from config.core.ids import parse_positive_int64, parse_uuid

NEWEST_MAX = 100_000  # how far back a search looks for what no index answers
_FOUND_MAX = 100
_PART_OF_ID = re.compile(r"…?([0-9a-f-]{10,36})", re.ASCII)
AN_ID = f"An id, or ten characters of one (among the newest {NEWEST_MAX:,})"


class OwnedRecords(ReadOnlyAdmin):
    """A record is found by its id or its person, through an index. `user:42` names a person too, as the API does. Part
    of an id, as lists show it, is looked for in the newest rows.

    Override `search_by_name` for what else names a record. `owner` is the column that says whose it is.
    """

    owner: ClassVar[str] = "user"
    is_about_people = True
    list_select_related: ClassVar[Any] = ("user",)
    search_fields: ClassVar[list[str] | tuple[str, ...]] = ("id",)
    search_help_text = f"{AN_ID}, or a person's user name (its beginning) or id"
    ordering = ("-id",)

    def subject_of(self, record: Any) -> int | None:
        owner: int = getattr(record, f"{self.owner}_id")
        return owner

    def search_by_name(self, term: str) -> Q | None:
        """Return the filter for a term that names a record itself; None for any other term."""
        identifier = parse_uuid(term.lower())
        return Q(pk=identifier) if identifier else None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        named = self.search_by_name(term)
        if named is not None:
            return queryset.filter(named), False
        users = get_user_model()._default_manager
        found = set(users.filter(username__startswith=term).values_list("pk", flat=True)[:_FOUND_MAX])
        if user_id := parse_positive_int64(term.removeprefix("user:")):
            found.add(user_id)
        wanted = Q(**{f"{self.owner}_id__in": found})
        part = _PART_OF_ID.fullmatch(term.lower()) if isinstance(self.opts.pk, UUIDField) else None
        if part is not None:
            partly = self.newest(request).filter(pk__contains=part[1]).values_list("pk", flat=True)
            wanted |= Q(pk__in=list(partly[:_FOUND_MAX]))
        return queryset.filter(wanted), False

    def newest(self, request: HttpRequest) -> QuerySet[Any]:
        rows = self.get_queryset(request).order_by()
        return rows.filter(pk__in=rows.order_by("-pk").values("pk")[:NEWEST_MAX])

    status_chip = column(chip, "status", "status", ordering="status")
    identifier = column(lambda pk: code(str(pk)), "pk", "id")
    short_id = column(lambda pk: code(f"…{str(pk)[-12:]}"), "pk", "id", ordering="id")

    @admin.display(description="person", ordering="user_id")
    def person(self, record: Any) -> SafeString | str:
        owner = getattr(record, self.owner)
        return record_link("identity_user", owner.pk, f"{owner.get_username()} ({owner.pk})")
