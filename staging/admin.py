"""Staging at the back office: what waits for its user, what became of it, and notes. All of it is only looked at."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.html import NOTHING, chip, clock, code, document, moment
from config.backoffice.owned import OwnedRecords
from staging.machine import STAGED
from staging.models import Approval, Note, StagedItem
from staging.registry import kind_names
from staging.services import STAGED_DAYS


class KindFilter(admin.SimpleListFilter):
    """The kinds that apps have registered."""

    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the kinds."""
        del request, model_admin
        return [(name, name.replace("_", " ")) for name in kind_names()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[StagedItem]) -> QuerySet[StagedItem]:
        """Keep one kind."""
        del request
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(StagedItem)
class StagedItemAdmin(OwnedRecords):
    """Items in staging and what was decided; the decision is their user's alone."""

    list_display = ("short_id", "status_chip", "age", "kind", "person", "source", "staged", "decided")
    list_filter = ("status", KindFilter)
    list_defer = ("payload",)
    personal_fields = ("payload",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier", "status_chip", "age", "person", "kind", "source", "staged", "decided", "decided_by",
                    "credential", "stored_as",
                )
            },
        ),
        ("What waits to become permanent", {"fields": ("payload_shown", "payload_sha256")}),
    )  # fmt: skip

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: StagedItem) -> SafeString:
        """Show the status."""
        return chip(record.status)

    @admin.display(description="waits", ordering="staged_at")
    def age(self, record: StagedItem) -> SafeString | str:
        """Show how much of its time has passed."""
        if record.status != STAGED:
            return NOTHING
        return clock(timezone.now() - record.staged_at, days=STAGED_DAYS)

    @admin.display(description="staged", ordering="staged_at")
    def staged(self, record: StagedItem) -> SafeString | str:
        """Show when it was staged."""
        return moment(record.staged_at)

    @admin.display(description="decided", ordering="decided_at")
    def decided(self, record: StagedItem) -> SafeString | str:
        """Show when it was decided about."""
        return moment(record.decided_at)

    @admin.display(description="permanent row")
    def stored_as(self, record: StagedItem) -> SafeString | str:
        """Show the id of what it became."""
        approval = Approval.objects.filter(item=record).first()
        return NOTHING if approval is None else code(approval.stored_id)

    @admin.display(description="payload")
    def payload_shown(self, record: StagedItem) -> SafeString | str:
        """Show the payload."""
        return document(record.payload)


@admin.register(Note)
class NoteAdmin(OwnedRecords):
    """Notes that their users approved."""

    list_display = ("short_id", "title", "person", "created")
    list_defer = ("text",)
    personal_fields = ("title", "text")
    fields = ("identifier", "person", "title", "text", "created")

    @admin.display(description="created", ordering="created_at")
    def created(self, record: Note) -> SafeString | str:
        """Show when it was approved."""
        return moment(record.created_at)
