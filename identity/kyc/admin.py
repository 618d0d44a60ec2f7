from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.bases import ReviewAdmin
from config.backoffice.html import NOTHING, clock, code, column, moment, record_link, table, words
from config.backoffice.lists import ConditionFilter, among
from config.backoffice.people import by_status
from config.backoffice.queues import Queue
from config.backoffice.records import AN_ID
from config.backoffice.timeline import TimelineEntry
from config.core.ids import parse_uuid
from identity.kyc.machine import DECISIONS, FAILED, MACHINE, PENDING_REVIEW, REQUIRES_INPUT, REVIEW_PERMISSION, VERIFIED
from identity.kyc.models import KycVerification
from identity.providers.choice import PROVIDERS

REVIEW_DAYS = 7  # this is an internal target, and no law sets this deadline


class VerificationQueueFilter(ConditionFilter):
    title, parameter_name = "queue", "queue"
    conditions = {
        "review": ("To review", Q(status=PENDING_REVIEW)),
        "person": ("Waiting for the applicant", Q(status=REQUIRES_INPUT)),
    }


@admin.register(KycVerification)
class KycVerificationAdmin(ReviewAdmin):
    machine = MACHINE
    review_permission = REVIEW_PERMISSION
    transition_labels = {VERIFIED: "Accept as verified", FAILED: "Refuse"}
    reason_required = DECISIONS
    ends_work = DECISIONS
    list_display = ("short_id", "status_chip", "person", "attempt", "provider", "age", "created")
    list_filter = (VerificationQueueFilter, "status", ("provider", among(PROVIDERS)))
    list_defer = ("steps", "last_error", "hosted_url", "redirect_uri")
    export_columns = (
        "id", "user_id", "attempt", "status", "provider", "provider_reference", "provider_status", "created_at",
        "expires_at", "completed_at",
    )  # fmt: skip
    search_help_text = f"{AN_ID}; the vendor's id; the beginning of a user name; a user's id"
    fieldsets = (
        (None, {"fields": (
            "identifier", "status_reason", "person", "attempt", "previous", "age", "created",
            "expires", "completed",
        )}),
        ("At the vendor", {"fields": (
            "provider", "reference", "provider_status", "name_match", "step_table", "error", "template_id", "asked",
        )}),
    )  # fmt: skip

    previous = column(partial(record_link, "identity_kycverification"), "previous_attempt_id", "previous attempt")
    created = column(moment, "created_at", "created", ordering="created_at")
    expires = column(moment, "expires_at", "open until")
    completed = column(moment, "completed_at", "completed")
    reference = column(code, "provider_reference", "vendor's id")
    asked = column(moment, "refreshed_at", "last checked")

    @admin.display(description="steps")
    def step_table(self, record: Any) -> SafeString | str:
        return table(((words(name), state) for name, state in record.steps.items()))

    @admin.display(description="last error")
    def error(self, record: Any) -> SafeString | str:
        return record.last_error["message"] if record.last_error else NOTHING

    def search_by_name(self, term: str) -> Q | None:
        if term.startswith("idv_"):
            return Q(provider__in=PROVIDERS, provider_reference=term)
        return super().search_by_name(term)

    @admin.display(description="waits", ordering="updated_at")
    def age(self, record: KycVerification) -> SafeString | str:
        if record.status != PENDING_REVIEW:
            return NOTHING
        return clock(timezone.now() - record.updated_at, days=REVIEW_DAYS)

    def seen_state(self, record: KycVerification) -> str:
        return f"{super().seen_state(record)}:{record.provider_status}"

    def notices_of(self, record: KycVerification) -> list[str]:
        notices = []
        if record.is_success_revoked:
            status = record.provider_status
            notices.append(
                f"The vendor reversed its success, and now reports “{status}”. The status here is unchanged."
            )
        if record.provider == "sandbox":
            notices.append("The sandbox simulated this verification: no documents were checked.")
        if record.status == PENDING_REVIEW and record.provider_status != "pending_review":
            notices.append(f"The vendor now reports “{record.provider_status}”.")
        return notices

    def title_of(self, record: KycVerification) -> str:
        return f"of {record.user.get_username()}, attempt {record.attempt}"

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        checks = KycVerification.objects.filter(pk__in=[*filter(None, map(parse_uuid, ids))]).select_related("user")
        return {str(check.pk): self.title_of(check) for check in checks.only("attempt", "user__username")}

    def consequences_of(self, record: KycVerification, to: str) -> list[str]:
        person = record.user.get_username()
        return [*super().consequences_of(record, to), f"{person} can read the new status, and gets an event."]

    def own_entries(self, request: HttpRequest, record: KycVerification) -> Iterable[TimelineEntry]:
        person = record.user.get_username()
        yield TimelineEntry(at=record.created_at, title="Started", status=REQUIRES_INPUT, actor=person)
        yield from super().own_entries(request, record)


QUEUE = Queue(
    name="verifications",
    title="Identities to review",
    permission=REVIEW_PERMISSION,
    rows=lambda _user: KycVerification.objects.filter(status=PENDING_REVIEW),
    waiting_since="updated_at",
    address="/admin/identity/kycverification/?queue=review",
    calm="No identities are waiting for a review.",
    urgent_days=REVIEW_DAYS,
    rank=30,
)
LINES = by_status("Identity checks", KycVerification)
