from django.contrib import admin
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.bases import OwnedRecords
from config.backoffice.html import NOTHING, clock, code, column, details, moment
from config.backoffice.lists import among
from staging.machine import STAGED
from staging.models import Approval, Note, StagedItem
from staging.registry import kinds
from staging.services import STAGED_DAYS


@admin.register(StagedItem)
class StagedItemAdmin(OwnedRecords):
    """Staged items and their decisions. Staff can't decide items."""

    list_display = ("short_id", "status_chip", "age", "kind", "person", "source", "staged", "decided")
    list_filter = ("status", ("kind", among(kinds)))
    list_defer = ("payload",)
    fieldsets = (
        (None, {"fields": (
            "identifier", "status_chip", "age", "person", "kind", "source", "staged", "decided", "decided_by",
            "credential", "stored_as",
        )}),
        ("Items waiting for approval", {"fields": ("payload_shown", "payload_sha256")}),
    )  # fmt: skip

    staged = column(moment, "staged_at", "staged", ordering="staged_at")
    decided = column(moment, "decided_at", "decided", ordering="decided_at")
    payload_shown = column(details, "payload", "payload")

    @admin.display(description="waits", ordering="staged_at")
    def age(self, record: StagedItem) -> SafeString | str:
        if record.status != STAGED:
            return NOTHING
        return clock(timezone.now() - record.staged_at, days=STAGED_DAYS)

    @admin.display(description="permanent row")
    def stored_as(self, record: StagedItem) -> SafeString | str:
        approval = Approval.objects.filter(item=record).first()
        return NOTHING if approval is None else code(approval.stored_id)


@admin.register(Note)
class NoteAdmin(OwnedRecords):
    list_title = "Staged notes"
    list_display = ("short_id", "title", "person", "created")
    list_defer = ("text",)
    fields = ("identifier", "person", "title", "text", "created")

    created = column(moment, "created_at", "created", ordering="created_at")
