"""Applications at the back office: found, read, and decided about as over the API."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.admin import ReviewAdmin
from config.backoffice.html import NOTHING, clock, code, column, document, moment, record_link, table, words
from config.backoffice.lists import ConditionFilter
from config.backoffice.owned import AN_ID
from config.backoffice.records import within_list
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry
from config.core.errors import ApiError
from config.core.ids import parse_positive_int64
from config.core.lifecycle import Actor
from credit.applications import IDLE_DAYS
from credit.backoffice import IN_REVIEW, REVIEW_DAYS, UNDECIDED, ApplicationTransitionForm
from credit.decisions import takes_two
from credit.document_requests import mark_document, request_documents
from credit.machine import (
    APPROVED,
    DECIDED,
    DRAFT,
    EXPIRED,
    MACHINE,
    PENDING_DOCUMENTS,
    REJECTED,
    SUBMITTED,
    UNDER_REVIEW,
    WITHDRAWN,
)
from credit.models import Application, Offer, Provider
from credit.timeline import entries_around


class QueueFilter(ConditionFilter):
    """What waits on whom; each queue starts with what has waited longest."""

    title, parameter_name = "queue", "queue"
    conditions = {
        "review": ("To review", Q(status__in=IN_REVIEW)),
        "documents": ("Waiting for documents", Q(status=PENDING_DOCUMENTS)),
        "decided": ("Decided", Q(status__in=DECIDED)),
    }


def _older_than(days: int) -> Callable[[HttpRequest], Q]:
    """Return the condition of having been submitted so long ago and waiting for a decision."""
    return lambda _request: Q(status__in=UNDECIDED, submitted_at__lte=timezone.now() - timedelta(days=days))


class AgeFilter(ConditionFilter):
    """How long an application has waited for a decision."""

    title, parameter_name = "age of what waits", "age"
    conditions = {str(days): (f"Over {days} days", _older_than(days)) for days in (7, 21, REVIEW_DAYS)}


@admin.register(Application)
class ApplicationAdmin(ReviewAdmin):
    """Applications; a decision is bound to the data that was seen."""

    machine = MACHINE
    transition_labels = {
        APPROVED: "Approve",
        REJECTED: "Reject",
        PENDING_DOCUMENTS: "Ask for documents",
        UNDER_REVIEW: "Take under review",
        SUBMITTED: "Submit",
        WITHDRAWN: "Withdraw",
    }
    transition_form = ApplicationTransitionForm
    bulk_transitions = (UNDER_REVIEW, PENDING_DOCUMENTS, APPROVED, REJECTED)
    export_columns = (
        "id", "status", "consumer_id", "offer_id", "provider_id", "initial_status", "moves", "created_at",
        "submitted_at", "reviewed_at", "reviewed_by", "status_reason", "updated_at",
    )  # fmt: skip
    review_permission = "credit.review_application"
    personal_fields = ("application_data", "notes", "status_reason")
    reason_required = frozenset({PENDING_DOCUMENTS})
    ends_work = frozenset({*DECIDED, WITHDRAWN, EXPIRED})
    change_form_template = "credit/backoffice_application.html"
    list_display = ("short_id", "status_chip", "age", "offer", "person", "submitted")
    list_filter = (QueueFilter, "status", AgeFilter)
    list_select_related = ("consumer",)
    list_defer = ("application_data", "offer_snapshot", "notes")
    owner = "consumer"
    search_help_text = f"{AN_ID}; a person's user name (its beginning) or id; an offer's id as offer:17 (as far back)"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier", "status_chip", "status_reason", "age", "person", "offer", "provider", "created",
                    "submitted", "reviewed", "changed",
                )
            },
        ),
        ("What the person sent", {"fields": ("data", "data_sha256", "data_changed_by", "notes")}),
        ("The offer as it was when the application was submitted", {"fields": ("pinned_version", "pinned_terms")}),
    )  # fmt: skip

    submitted = column(moment, "submitted_at", "submitted", ordering="submitted_at")
    changed = column(moment, "updated_at", "last change", ordering="updated_at")
    data = column(document, "application_data", "data")
    pinned_version = column(lambda version: str(version or NOTHING), "offer_version", "offer's version")

    # --- Lists --------------------------------------------------------------------------------------------------

    def get_ordering(self, request: HttpRequest) -> Any:
        """Start what waits for a review with what was submitted first; an index gives each order."""
        queue = request.GET.get("queue")
        if queue == "review" or request.GET.get("age"):
            return ("submitted_at", "id")
        return super().get_ordering(request) if queue == "documents" else ("-id",)

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        """Find the names of the offers on the page."""
        super().rows_shown(request, rows)
        names = dict(Offer.objects.filter(pk__in={row.offer_id for row in rows}).values_list("pk", "name"))
        for row in rows:
            row.offer_name = names.get(row.offer_id, "")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Application], search_term: str
    ) -> tuple[QuerySet[Application], bool]:
        """Find the applications to an offer, too."""
        term = search_term.strip()
        if not term.startswith("offer:"):
            return super().get_search_results(request, queryset, search_term)
        offer_id = parse_positive_int64(term.removeprefix("offer:").strip())
        return queryset.filter(pk__in=self.newest(request).filter(offer_id=offer_id).values("pk")), False

    # --- Columns and facts --------------------------------------------------------------------------------------

    @admin.display(description="age", ordering="submitted_at")
    def age(self, record: Application) -> SafeString | str:
        """Show the age against the clock that runs: of a decision, since the submission; or of expiry."""
        now = timezone.now()
        if record.status in UNDECIDED:
            return clock(now - (record.submitted_at or record.created_at), days=REVIEW_DAYS)
        if record.status in IDLE_DAYS:
            return clock(now - record.updated_at, days=IDLE_DAYS[record.status])
        return NOTHING

    @admin.display(description="offer", ordering="offer_id")
    def offer(self, record: Application) -> SafeString | str:
        """Show the offer, linked when it is listed here."""
        name = getattr(record, "offer_name", None)
        if name is None:
            name = Offer.objects.filter(pk=record.offer_id).values_list("name", flat=True).first()
        if not name:
            return f"{record.offer_id} (not listed here)"
        return record_link("credit_offer", record.offer_id, f"{name} ({record.offer_id})")

    @admin.display(description="person", ordering="consumer_id")
    def person(self, record: Application) -> SafeString | str:
        return super().person(record)

    @admin.display(description="provider")
    def provider(self, record: Application) -> SafeString | str:
        """Show the provider, linked when it is known here."""
        if not Provider.objects.filter(pk=str(record.provider_id)).exists():
            return f"{record.provider_id} (not known here)"
        return record_link("credit_provider", record.provider_id)

    @admin.display(description="created", ordering="created_at")
    def created(self, record: Application) -> SafeString | str:
        """Show when and in which status it began."""
        return format_html("{} as {}", moment(record.created_at), words(record.initial_status))

    @admin.display(description="decided")
    def reviewed(self, record: Application) -> SafeString | str:
        """Show when and by whom the last decision was made."""
        if record.reviewed_at is None:
            return NOTHING
        return format_html("{} by {}", moment(record.reviewed_at), record.reviewed_by)

    @admin.display(description="SHA-256 of the data")
    def data_sha256(self, record: Application) -> SafeString | str:
        return code(getattr(record, "true_digest", None) or record.data_sha256)

    @admin.display(description="terms")
    def pinned_terms(self, record: Application) -> SafeString | str:
        """Show the pinned terms that say something."""
        if record.offer_snapshot is None:
            return "None pinned: not submitted yet, or the offer is not listed here."
        return table((words(name), value) for name, value in record.offer_snapshot.items() if value not in (None, ""))

    # --- The page -----------------------------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        """Add the buttons of the checklist."""
        return [
            self.review_path("documents/<uuid:document_id>/", self.document_view, "document"),
            *super().get_urls(),
        ]

    def page_of(self, request: HttpRequest, record: Application) -> dict[str, Any]:
        """Add the checklist of documents."""
        documents = list(record.requested_documents.all())
        for entry in documents:
            entry.address = within_list(self.address_of("document", record.pk, entry.pk), request)  # type: ignore[attr-defined]
        return {**super().page_of(request, record), "documents": documents}

    def document_view(self, request: HttpRequest, record: Application, document_id: UUID) -> HttpResponse:
        """Mark a document of the checklist (POST)."""
        back = HttpResponseRedirect(self.record_address(record, request))
        if request.method != "POST":
            return back
        try:
            status = request.POST.get("status", "")
            marked = mark_document(record, document_id, status, by=request.user, now=timezone.now())
        except ApiError as refusal:
            messages.error(request, str(refusal))
            return back
        self.log_change(request, record, f"Document “{marked.name}”: {marked.status}.")
        messages.success(request, f"“{marked.name}” is {marked.status}.")
        return back

    def make_transition(self, record: Application, to: str, *, actor: Actor, reason: str | None, metadata: Any) -> None:
        """Change the status, and make the checklist that belongs to it."""
        super().make_transition(record, to, actor=actor, reason=reason, metadata=metadata)
        if to == PENDING_DOCUMENTS:
            request_documents(record, metadata["documents"], by=actor.user, now=timezone.now())

    def mask_record(self, record: Application) -> None:
        """Keep the digest of the data, which says nothing about the person."""
        if "application_data" in record.__dict__:
            record.true_digest = record.data_sha256  # type: ignore[attr-defined]
        super().mask_record(record)

    def needs_second(self, record: Application, to: str) -> bool:  # noqa: ARG002
        return takes_two(to)

    def may_review(self, request: HttpRequest, record: Application) -> bool:
        return record.is_reviewed_by(request.user)

    def seen_state(self, record: Application) -> str:
        """Bind a decision to the data that was seen, too."""
        return record.reviewed_state

    def notices_of(self, record: Application) -> list[str]:
        """Say what a reviewer could overlook."""
        notices = []
        if record.initial_status != DRAFT:
            began = f"This application began as “{words(record.initial_status)}”."
            notices.append(f"{began} No decision was made here before that.")
        touched = record.revisions.filter(status__in=(SUBMITTED, UNDER_REVIEW, PENDING_DOCUMENTS)).count()
        if touched and record.status not in DECIDED:
            notices.append(f"The data changed {touched} time(s) after submission. The timeline shows when and by whom.")
        return notices

    def consequences_of(self, record: Application, to: str) -> list[str]:
        """Say what follows from the transition."""
        lines = super().consequences_of(record, to)
        reopens = record.status in DECIDED and to == UNDER_REVIEW
        if reopens:
            lines.append(f"The decision “{words(record.status)}” is taken back.")
        if to in DECIDED:
            lines.append(f"The decision is bound to the data with SHA-256 {record.data_sha256}, as shown on the page.")
        if (to in DECIDED or reopens) and settings.ANCHOR_DECISIONS:
            lines.append("The decision is anchored in the ledger.")
        if to == PENDING_DOCUMENTS:
            lines.append("The documents are put on a checklist that the person sees.")
        if to in IDLE_DAYS:
            lines.append(f"It expires when nothing happens for {IDLE_DAYS[to]} days.")
        lines.append(f"{record.consumer.get_username()} can read the new status and the reason, and is sent an event.")
        return lines

    def label_of(self, to: str, record: Application | None = None) -> str:
        """Call taking a decision back what it is."""
        if record is not None and record.status in DECIDED and to == UNDER_REVIEW:
            return "Reopen"
        return super().label_of(to, record)

    def own_entries(self, record: Application) -> Iterable[TimelineEntry]:
        """Add the beginning, the changes of data, the anchors and what others know to the transitions."""
        yield TimelineEntry(
            at=record.created_at,
            title="Created",
            status=record.initial_status,
            actor=record.consumer.get_username(),
        )
        yield from super().own_entries(record)
        yield from entries_around(record)
        yield from _revision_entries(record)
        for anchor in record.seals.select_related("history")[:ENTRIES_MAX]:
            if anchor.anchored_at is not None:
                yield TimelineEntry(
                    at=anchor.anchored_at,
                    title=f"Decision {anchor.history.position} anchored in the ledger",
                    facts=(("block", str(anchor.block_number)), ("record SHA-256", anchor.record_sha256)),
                )


def _revision_entries(record: Application) -> list[TimelineEntry]:
    """Return the changes of data, each with what it replaced."""
    entries, before = [], "as created"
    for revision in record.revisions.select_related("principal")[:ENTRIES_MAX]:
        entries.append(
            TimelineEntry(
                at=revision.changed_at,
                title="Data changed",
                id=str(revision.pk),
                claimed=revision.updated_by,
                actor=revision.principal.get_username(),
                credential=revision.credential,
                facts=(("while", words(revision.status)), ("before", before), ("after", revision.sha256)),
                # Values are personal data: whoever sees the record masked sees that they changed, not to what.
                details=None if getattr(record, "is_masked", False) else revision.changes,
                details_title="What changed",
            )
        )
        before = revision.sha256
    return entries
