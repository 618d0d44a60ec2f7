from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from config.backoffice.bases import ReadOnlyAdmin
from config.backoffice.html import chip, column, document
from credit.models import DecisionAnchor


@admin.register(DecisionAnchor)
class DecisionAnchorAdmin(ReadOnlyAdmin):
    """Decisions, acceptances and published scoring models on their way into the ledger, newest first."""

    is_about_people = True
    personal_fields = ("record", "proof")
    list_display = ("record_sha256", "report_type", "state", "application_id", "attempts", "block_number", "last_error")
    list_filter = (("anchored_at", admin.EmptyFieldListFilter),)
    list_defer = ("proof", "proof_file")
    ordering = ("-id",)
    fields = (
        "record_sha256", "report_type", "state", "application_id", "record", "signed_by", "signature", "due_at",
        "attempts", "last_error", "anchored_at", "block_number", "proof_document", "proof_file",
    )  # fmt: skip

    def subject_of(self, record: DecisionAnchor) -> int | None:
        """Return the consumer; None for a version or a key, which are not personal data."""
        return None if record.application is None else record.application.consumer_id

    proof_document = column(document, "proof", "proof")

    @admin.display(description="state")
    def state(self, record: Any) -> SafeString | str:
        return chip("anchored" if record.anchored_at else "pending")
