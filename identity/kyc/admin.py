"""The back office of identity verification: what waits for a reviewer, and the decision."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice import queues
from config.backoffice.admin import ReviewAdmin
from config.backoffice.html import NOTHING, clock, code, link, moment, table
from config.backoffice.lists import among
from config.backoffice.owned import AN_ID, OwnedRecords
from config.backoffice.timeline import TimelineEntry
from identity.kyc.machine import DECISIONS, FAILED, MACHINE, PENDING_REVIEW, REQUIRES_INPUT, REVIEW_PERMISSION, VERIFIED
from identity.kyc.models import KycVerification
from identity.providers.choice import PROVIDERS

# No law sets this clock; it is what the back office holds itself to.
REVIEW_DAYS = 7


class VerificationQueueFilter(admin.SimpleListFilter):
    """What waits on whom."""

    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the queues."""
        del request, model_admin
        return [("review", "To review"), ("person", "Waiting for the person")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[KycVerification]) -> QuerySet[KycVerification]:
        """Keep the queue's status."""
        del request
        status = {"review": PENDING_REVIEW, "person": REQUIRES_INPUT}.get(self.value() or "")
        return queryset.filter(status=status) if status else queryset


@admin.register(KycVerification)
class KycVerificationAdmin(OwnedRecords, ReviewAdmin):
    """Identity verifications: found, read, and decided where the provider left it open."""

    machine = MACHINE
    review_permission = REVIEW_PERMISSION
    move_labels = {VERIFIED: "Accept as verified", FAILED: "Refuse"}
    reason_required = DECISIONS
    ends_work = DECISIONS
    list_display = ("short_id", "status_chip", "person", "attempt", "provider", "age", "created")
    list_filter = (VerificationQueueFilter, "status", ("provider", among(PROVIDERS)))
    list_select_related = ("user",)
    list_defer = ("steps", "last_error", "hosted_url", "redirect_uri")
    export_columns = (
        "id",
        "user_id",
        "attempt",
        "status",
        "provider",
        "provider_reference",
        "provider_status",
        "created_at",
        "expires_at",
        "completed_at",
    )
    search_help_text = f"{AN_ID}; the provider's id; a person's user name (its beginning) or id"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier", "status_chip", "status_reason", "person", "attempt", "previous", "age", "created",
                    "expires", "completed",
                )
            },
        ),
        (
            "At the provider",
            {"fields": ("provider", "reference", "provider_status", "step_table", "error", "template_id", "asked")},
        ),
    )  # fmt: skip

    def get_ordering(self, request: HttpRequest) -> Any:
        """Start a queue with what has waited longest, everything else with what is newest."""
        return ("updated_at", "id") if request.GET.get("queue") else ("-id",)

    def search_by_name(self, term: str) -> Q | None:
        """Find a verification by its id or the provider's."""
        if term.startswith("idv_"):
            return Q(provider__in=("sandbox", "plaid"), provider_reference=term)
        return super().search_by_name(term)

    # --- Columns and facts --------------------------------------------------------------------------------------

    @admin.display(description="waits", ordering="updated_at")
    def age(self, record: KycVerification) -> SafeString | str:
        """Show how long it has waited for a reviewer."""
        if record.status != PENDING_REVIEW:
            return NOTHING
        return clock(timezone.now() - record.updated_at, days=REVIEW_DAYS)

    @admin.display(description="previous attempt")
    def previous(self, record: KycVerification) -> SafeString | str:
        """Link the attempt before."""
        if record.previous_attempt_id is None:
            return NOTHING
        address = reverse("admin:identity_kycverification_change", args=[record.previous_attempt_id])
        return link(address, str(record.previous_attempt_id))

    @admin.display(description="created", ordering="created_at")
    def created(self, record: KycVerification) -> SafeString | str:
        """Show when it was started."""
        return moment(record.created_at)

    @admin.display(description="open until")
    def expires(self, record: KycVerification) -> SafeString | str:
        """Show until when the person may begin."""
        return moment(record.expires_at)

    @admin.display(description="completed")
    def completed(self, record: KycVerification) -> SafeString | str:
        """Show when it ended."""
        return moment(record.completed_at)

    @admin.display(description="provider's id")
    def reference(self, record: KycVerification) -> SafeString | str:
        """Show the id under which the provider knows it."""
        return code(record.provider_reference)

    @admin.display(description="steps")
    def step_table(self, record: KycVerification) -> SafeString | str:
        """Show the provider's steps."""
        return table((name.replace("_", " "), state) for name, state in record.steps.items())

    @admin.display(description="last error")
    def error(self, record: KycVerification) -> str:
        """Show why it ended."""
        return record.last_error["message"] if record.last_error else NOTHING

    @admin.display(description="last asked")
    def asked(self, record: KycVerification) -> SafeString | str:
        """Show when the provider was last asked."""
        return moment(record.refreshed_at)

    # --- The page -----------------------------------------------------------------------------------------------

    def seen_state(self, record: KycVerification) -> str:
        """Bind a decision to what the provider said when the page was drawn."""
        return f"{super().seen_state(record)}:{record.provider_status}"

    def notices_of(self, record: KycVerification) -> list[str]:
        """Say what a reviewer could overlook."""
        notices = []
        if record.provider == "sandbox":
            notices.append("The sandbox played this verification: nobody's documents were checked.")
        if record.status == PENDING_REVIEW and record.provider_status != "pending_review":
            notices.append(f"The provider itself says “{record.provider_status}” by now.")
        return notices

    def consequences_of(self, record: KycVerification, to: str) -> list[str]:
        """Say what follows from the decision."""
        person = record.user.get_username()
        return [*super().consequences_of(record, to), f"{person} can read the new status, and is sent an event."]

    def own_entries(self, record: KycVerification) -> Iterable[TimelineEntry]:
        """Add the beginning to the moves."""
        person = record.user.get_username()
        yield TimelineEntry(at=record.created_at, title="Started", status=REQUIRES_INPUT, actor=person)
        yield from super().own_entries(record)


queues.register(
    queues.Queue(
        name="verifications",
        title="Identities to review",
        permission=REVIEW_PERMISSION,
        rows=lambda _user, _now: KycVerification.objects.filter(status=PENDING_REVIEW),
        waiting_since="updated_at",
        address="/admin/identity/kycverification/?queue=review",
        calm="No identity waits for a review.",
        urgent_days=REVIEW_DAYS,
        rank=30,
    )
)
