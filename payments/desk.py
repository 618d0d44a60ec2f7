"""What the admins of this room share: records of a person, found by id or person."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from config.api.ids import parse_positive_int64, parse_uuid
from config.desk.admin import ReadOnlyAdmin
from config.desk.html import chip, code, link

_SEARCHED_USERS_MAX = 100


class OwnedAdmin(ReadOnlyAdmin):
    """Records of a person, newest first; `user` is the column that says whose."""

    list_select_related = ("user",)
    search_fields = ("id",)
    search_help_text = "An id, or a person's user name (its beginning) or id"
    ordering = ("-id",)

    def subject_of(self, record: Any) -> int:
        """Return whose record it is."""
        return int(record.user_id)

    def search_by_id(self, term: str) -> Q | None:
        """Return the filter for a term that names a record itself; None for any other term."""
        identifier = parse_uuid(term.lower())
        return Q(pk=identifier) if identifier else None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find by what an index can answer."""
        del request
        term = search_term.strip()
        if not term:
            return queryset, False
        named = self.search_by_id(term)
        if named is not None:
            return queryset.filter(named), False
        users = get_user_model()._default_manager
        found = set(users.filter(username__startswith=term).values_list("pk", flat=True)[:_SEARCHED_USERS_MAX])
        if user_id := parse_positive_int64(term):
            found.add(user_id)
        return queryset.filter(user_id__in=found), False

    @admin.display(description="id", ordering="id")
    def short_id(self, record: Any) -> SafeString | str:
        """Show the end of the id, which is what differs."""
        return code(f"…{str(record.pk)[-12:]}")

    @admin.display(description="id")
    def identifier(self, record: Any) -> SafeString | str:
        """Show the whole id."""
        return code(str(record.pk))

    @admin.display(description="person", ordering="user_id")
    def person(self, record: Any) -> SafeString | str:
        """Show whose it is."""
        address = reverse("admin:identity_user_change", args=[record.user_id])
        return link(address, f"{record.user.get_username()} ({record.user_id})")

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: Any) -> SafeString:
        """Show the status."""
        return chip(record.status)
