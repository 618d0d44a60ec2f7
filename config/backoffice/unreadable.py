"""The list of encrypted values that no key opens."""

from django.contrib import admin
from django.utils.safestring import SafeString

from config.api.models import UnreadableValue
from config.backoffice import queues
from config.backoffice.audit import RecordNamedAdmin, record_link
from config.backoffice.html import moment

VIEW = "api.view_unreadablevalue"


@admin.register(UnreadableValue)
class UnreadableValueAdmin(RecordNamedAdmin):
    """What was set aside: the rest goes on, and the owner of each needs a new secret, or the old key back."""

    list_display = ("found", "kind", "record")
    ordering = ("-found_at",)
    fields = ("found", "kind", "record")

    def kind_of(self, row: UnreadableValue) -> str:
        """Return the model of the row, as permissions and addresses spell it."""
        return row.kind.rpartition(".")[0].lower()

    @admin.display(description="record")
    def record(self, row: UnreadableValue) -> SafeString | str:
        """Name the record, and link it for those who may open it."""
        return record_link(self.kind_of(row), row.record_id, is_linked=row.is_linked)  # type: ignore[attr-defined]

    @admin.display(description="found", ordering="found_at")
    def found(self, row: UnreadableValue) -> SafeString | str:
        """Show since when it is known."""
        return moment(row.found_at)


queues.register(
    queues.Queue(
        name="unreadable",
        title="Secrets that no key opens",
        permission=VIEW,
        rows=lambda _user, _now: UnreadableValue.objects.all(),
        waiting_since="found_at",
        address="/admin/api/unreadablevalue/",
        calm="Every secret that was asked for can be read.",
        rank=65,
    )
)
