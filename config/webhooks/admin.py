"""The outbox in the back office."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.api.ids import parse_positive_int64, parse_uuid
from config.desk.admin import ReadOnlyAdmin
from config.desk.html import code, document, moment
from config.webhooks.models import Event


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    """What happened, newest first. Events only grow."""

    list_display = ("when", "type", "account", "what", "request_id")
    list_select_related = ("account",)
    search_fields = ("id",)
    search_help_text = "An event's id, a user's name, or a user's id as user:42"
    ordering = ("-id",)
    fields = ("id", "type", "account", "when", "request_id", "content")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        """Find by what an index can answer."""
        del request
        term = search_term.strip()
        if not term:
            return queryset, False
        if identifier := parse_uuid(term.lower()):
            return queryset.filter(pk=identifier), False
        if term.startswith("user:"):
            account_id = parse_positive_int64(term.removeprefix("user:"))
            return (queryset.none() if account_id is None else queryset.filter(account_id=account_id)), False
        return queryset.filter(account__username=term), False

    @admin.display(description="when", ordering="id")
    def when(self, record: Event) -> SafeString | str:
        """Show the moment."""
        return moment(record.created_at)

    @admin.display(description="about")
    def what(self, record: Event) -> SafeString | str:
        """Show the first member of its object, which names the record."""
        return code(next((f"{name} {value}" for name, value in (record.object or {}).items()), ""))

    @admin.display(description="object")
    def content(self, record: Event) -> SafeString | str:
        """Show the whole object."""
        return document(record.object)
