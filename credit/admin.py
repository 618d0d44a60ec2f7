"""The back office of this room: applications to decide about, offers, providers and their members."""

from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.api.documents import canonical_json
from config.api.errors import ApiError
from config.api.ids import parse_positive_int64, parse_uuid
from config.desk.admin import ReadOnlyAdmin, ReviewAdmin
from config.desk.html import NOTHING, chip, clock, code, document, link, moment, table, words
from config.desk.timeline import ENTRIES_MAX, TimelineEntry
from config.lifecycle import Actor
from credit.applications import IDLE_DAYS
from credit.machine import (
    APPROVED,
    DECIDED,
    DRAFT,
    MACHINE,
    PENDING_DOCUMENTS,
    REJECTED,
    SUBMITTED,
    UNDER_REVIEW,
    WITHDRAWN,
)
from credit.models import (
    Application,
    ApplicationHistory,
    ApplicationRevision,
    DecisionSeal,
    Offer,
    Provider,
    ProviderMember,
)
from credit.policy import refusal_of

# Regulation B gives a creditor thirty days from a completed application to its answer (12 CFR 1002.9(a)(1)(i)).
REVIEW_DAYS = 30
_SEARCHED_USERS_MAX = 100
_IN_REVIEW = (SUBMITTED, UNDER_REVIEW)


class QueueFilter(admin.SimpleListFilter):
    """What waits on whom; each queue starts with what has waited longest."""

    title = "queue"
    parameter_name = "queue"
    statuses = {"review": _IN_REVIEW, "documents": (PENDING_DOCUMENTS,), "decided": tuple(DECIDED)}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the queues."""
        del request, model_admin
        return [("review", "To review"), ("documents", "Waiting for documents"), ("decided", "Decided")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Application]) -> QuerySet[Application]:
        """Keep the queue's statuses."""
        del request
        statuses = self.statuses.get(self.value() or "")
        return queryset.filter(status__in=statuses) if statuses else queryset


class AgeFilter(admin.SimpleListFilter):
    """How long an application has waited for a decision."""

    title = "age of what waits"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the ages."""
        del request, model_admin
        return [("7", "Over 7 days"), ("21", "Over 21 days"), ("30", f"Over {REVIEW_DAYS} days")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Application]) -> QuerySet[Application]:
        """Keep what was submitted long ago and has no decision yet."""
        del request
        if self.value() not in {"7", "21", "30"}:
            return queryset
        before = timezone.now() - timedelta(days=int(self.value() or 0))
        return queryset.filter(status__in=_IN_REVIEW, submitted_at__lte=before)


@admin.register(Application)
class ApplicationAdmin(ReviewAdmin):
    """Applications: found, read, and moved as the API moves them."""

    machine = MACHINE
    move_labels = {
        APPROVED: "Approve",
        REJECTED: "Reject",
        PENDING_DOCUMENTS: "Ask for documents",
        UNDER_REVIEW: "Take under review",
        SUBMITTED: "Submit",
        WITHDRAWN: "Withdraw",
    }
    reason_required = frozenset({REJECTED, PENDING_DOCUMENTS})
    list_display = ("short_id", "status_chip", "age", "offer", "person", "submitted")
    list_filter = (QueueFilter, "status", AgeFilter)
    list_select_related = ("consumer",)
    list_defer = ("application_data", "offer_snapshot", "notes")
    search_fields = ("id",)
    search_help_text = (
        "An application's id, a person's user name (or its beginning) or id, or an offer's id as offer:17"
    )
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

    # --- Lists --------------------------------------------------------------------------------------------------

    def get_ordering(self, request: HttpRequest) -> Any:
        """Start a queue with what has waited longest, everything else with what is newest."""
        return ("submitted_at", "id") if request.GET.get("queue") in {"review", "documents"} else ("-id",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Application], search_term: str
    ) -> tuple[QuerySet[Application], bool]:
        """Find by what an index can answer: the id, the person, the offer."""
        del request
        term = search_term.strip()
        if not term:
            return queryset, False
        if identifier := parse_uuid(term.lower()):
            return queryset.filter(pk=identifier), False
        if term.startswith("offer:"):
            offer_id = parse_positive_int64(term.removeprefix("offer:"))
            return (queryset.none() if offer_id is None else queryset.filter(offer_id=offer_id)), False
        users = Application._meta.get_field("consumer").related_model._default_manager
        found = set(users.filter(username__startswith=term).values_list("pk", flat=True)[:_SEARCHED_USERS_MAX])
        if user_id := parse_positive_int64(term):
            found.add(user_id)
        return queryset.filter(consumer_id__in=found), False

    def complete_page(self, rows: list[Any]) -> None:
        """Find the names of the offers on the page."""
        names = dict(Offer.objects.filter(pk__in={row.offer_id for row in rows}).values_list("pk", "name"))
        for row in rows:
            row.offer_name = names.get(row.offer_id, "")

    # --- Columns and facts --------------------------------------------------------------------------------------

    @admin.display(description="id", ordering="id")
    def short_id(self, record: Application) -> SafeString | str:
        """Show the end of the id, which is what differs."""
        return code(f"…{str(record.pk)[-12:]}")

    @admin.display(description="id")
    def identifier(self, record: Application) -> SafeString | str:
        """Show the whole id."""
        return code(str(record.pk))

    @admin.display(description="age", ordering="submitted_at")
    def age(self, record: Application) -> SafeString | str:
        """Show the age against the clock that runs: of a decision, or of expiry."""
        now = timezone.now()
        if record.status in _IN_REVIEW:
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
        return link(reverse("admin:credit_offer_change", args=[record.offer_id]), f"{name} ({record.offer_id})")

    @admin.display(description="person", ordering="consumer_id")
    def person(self, record: Application) -> SafeString | str:
        """Show the consumer."""
        return link(
            reverse("admin:identity_user_change", args=[record.consumer_id]),
            f"{record.consumer.get_username()} ({record.consumer_id})",
        )

    @admin.display(description="provider")
    def provider(self, record: Application) -> SafeString | str:
        """Show the provider, linked when it is known here."""
        if not Provider.objects.filter(pk=str(record.provider_id)).exists():
            return f"{record.provider_id} (not known here)"
        return link(reverse("admin:credit_provider_change", args=[record.provider_id]), record.provider_id)

    @admin.display(description="created", ordering="created_at")
    def created(self, record: Application) -> SafeString | str:
        """Show when and in which status it began."""
        return format_html("{} as {}", moment(record.created_at), words(record.initial_status))

    @admin.display(description="submitted", ordering="submitted_at")
    def submitted(self, record: Application) -> SafeString | str:
        """Show when it was first submitted."""
        return moment(record.submitted_at)

    @admin.display(description="last change", ordering="updated_at")
    def changed(self, record: Application) -> SafeString | str:
        """Show when anything last changed."""
        return moment(record.updated_at)

    @admin.display(description="decided")
    def reviewed(self, record: Application) -> SafeString | str:
        """Show when and by whom the last decision was made."""
        if record.reviewed_at is None:
            return NOTHING
        return format_html("{} by {}", moment(record.reviewed_at), record.reviewed_by)

    @admin.display(description="data")
    def data(self, record: Application) -> SafeString | str:
        """Show what was sent."""
        return document(record.application_data)

    @admin.display(description="SHA-256 of the data")
    def data_sha256(self, record: Application) -> SafeString | str:
        """Show the digest of the canonical JSON."""
        return code(_digest_of(record))

    @admin.display(description="offer's version")
    def pinned_version(self, record: Application) -> str:
        """Show which version was pinned."""
        return NOTHING if record.offer_version is None else str(record.offer_version)

    @admin.display(description="terms")
    def pinned_terms(self, record: Application) -> SafeString | str:
        """Show the pinned terms that say something."""
        if record.offer_snapshot is None:
            return "None pinned: not submitted yet, or the offer is not listed here."
        return table((words(name), value) for name, value in record.offer_snapshot.items() if value is not None)

    # --- The page -----------------------------------------------------------------------------------------------

    def refusal_of(self, record: Application, to: str, actor: Actor) -> ApiError | None:
        """Ask the review policy."""
        return refusal_of(record, to, actor)

    def may_review(self, request: HttpRequest, record: Application) -> bool:
        """Say whether this person reviews the application."""
        return record.is_reviewed_by(request.user)

    def seen_state(self, record: Application) -> str:
        """Bind a move to the data that was seen, too."""
        return f"{super().seen_state(record)}:{_digest_of(record)}"

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
        """Say what follows from the move."""
        lines = super().consequences_of(record, to)
        reopens = record.status in DECIDED and to == UNDER_REVIEW
        if reopens:
            lines.append(f"The decision “{words(record.status)}” is taken back.")
        if to in DECIDED:
            lines.append(f"The decision is bound to the data with SHA-256 {_digest_of(record)}, as shown on the page.")
        if (to in DECIDED or reopens) and settings.ANCHOR_DECISIONS:
            lines.append("The decision is sealed in the ledger.")
        if to in IDLE_DAYS:
            lines.append(f"It expires when nothing happens for {IDLE_DAYS[to]} days.")
        lines.append(f"{record.consumer.get_username()} can read the new status and the reason, and is sent an event.")
        return lines

    def own_entries(self, record: Application) -> Iterable[TimelineEntry]:
        """Add the beginning, the changes of data and the seals to the moves."""
        yield TimelineEntry(
            at=record.created_at,
            title="Created",
            status=record.initial_status,
            actor=record.consumer.get_username(),
        )
        yield from super().own_entries(record)
        yield from _revision_entries(record)
        for seal in record.seals.select_related("history")[:ENTRIES_MAX]:
            if seal.anchored_at is not None:
                yield TimelineEntry(
                    at=seal.anchored_at,
                    title=f"Decision {seal.history.position} sealed in the ledger",
                    facts=(("block", str(seal.block_number)), ("record SHA-256", seal.record_sha256)),
                )


def _digest_of(record: Application) -> str:
    """Return the SHA-256 of the data's canonical JSON, as revisions and decisions name it."""
    return sha256(canonical_json(record.application_data)).hexdigest()


def _revision_entries(record: Application) -> list[TimelineEntry]:
    """Return the changes of data, each with what it replaced."""
    entries, before = [], "as created"
    for revision in record.revisions.select_related("principal")[:ENTRIES_MAX]:
        entries.append(
            TimelineEntry(
                at=revision.changed_at,
                title="Data changed",
                claimed=revision.updated_by,
                actor=revision.principal.get_username(),
                credential=revision.credential,
                facts=(("while", words(revision.status)), ("before", before), ("after", revision.sha256)),
            )
        )
        before = revision.sha256
    return entries


@admin.register(ApplicationHistory)
class ApplicationHistoryAdmin(ReadOnlyAdmin):
    """Every move of every application, newest first."""

    list_display = ("when", "application_link", "move", "changed_by", "principal", "credential", "reason")
    list_select_related = ("principal",)
    list_filter = ("status",)
    ordering = ("-id",)

    @admin.display(description="when")
    def when(self, record: ApplicationHistory) -> SafeString | str:
        """Show the moment."""
        return moment(record.changed_at)

    @admin.display(description="application")
    def application_link(self, record: ApplicationHistory) -> SafeString | str:
        """Link the application."""
        address = reverse("admin:credit_application_change", args=[record.application_id])
        return link(address, f"…{str(record.application_id)[-12:]}")

    @admin.display(description="move")
    def move(self, record: ApplicationHistory) -> SafeString | str:
        """Show where to."""
        return chip(record.status)


@admin.register(ApplicationRevision)
class ApplicationRevisionAdmin(ReadOnlyAdmin):
    """Every change of an application's data, newest first."""

    list_display = ("when", "application_id", "status", "sha256", "updated_by", "principal", "credential")
    list_select_related = ("principal",)
    ordering = ("-id",)

    @admin.display(description="when")
    def when(self, record: ApplicationRevision) -> SafeString | str:
        """Show the moment."""
        return moment(record.changed_at)


@admin.register(DecisionSeal)
class DecisionSealAdmin(ReadOnlyAdmin):
    """Decisions on their way into the ledger, newest first."""

    list_display = ("record_sha256", "state", "application_id", "attempts", "block_number", "last_error")
    list_filter = (("anchored_at", admin.EmptyFieldListFilter),)
    list_defer = ("proof", "proof_file")
    ordering = ("-history_id",)
    fields = (
        "record_sha256", "state", "application_id", "record", "due_at", "attempts", "last_error", "anchored_at",
        "block_number", "proof_document", "proof_file",
    )  # fmt: skip

    @admin.display(description="state")
    def state(self, record: DecisionSeal) -> SafeString:
        """Show whether the ledger has it."""
        return chip("anchored" if record.anchored_at else "pending")

    @admin.display(description="proof")
    def proof_document(self, record: DecisionSeal) -> SafeString | str:
        """Show the ledger's answer."""
        return document(record.proof)


@admin.register(Offer)
class OfferAdmin(ReadOnlyAdmin):
    """Offers; their owners change them through the API, which counts versions."""

    list_display = ("name", "state", "product_type", "provider_id", "owner", "version", "updated_at")
    list_filter = ("is_active",)
    list_select_related = ("owner",)
    search_fields = ("name", "=provider__id")
    search_help_text = "Part of a name, or a provider's id"
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("id", "state", "name", "description", "product_type", "provider", "owner", "version")}),
        ("Terms", {"fields": ("terms",)}),
        ("When", {"fields": ("created_at", "updated_at")}),
    )

    @admin.display(description="state", ordering="is_active")
    def state(self, record: Offer) -> SafeString:
        """Show whether it is open to applications."""
        return chip("active" if record.is_active else "inactive")

    @admin.display(description="terms")
    def terms(self, record: Offer) -> SafeString | str:
        """Show the terms that say something."""
        shown = {"name", "description", "product_type", "provider_id"}
        return table(
            (words(name), value) for name, value in record.terms().items() if value is not None and name not in shown
        )


class ProviderMemberInline(admin.TabularInline):  # type: ignore[type-arg]
    """Who acts for a provider."""

    model = ProviderMember
    autocomplete_fields = ("user",)
    extra = 0
    verbose_name = "member: may make offers under this id and review its applications"
    verbose_name_plural = "members: may make offers under this id and review its applications"


@admin.register(Provider)
class ProviderAdmin(ReadOnlyAdmin):
    """Providers; their members are added and removed here."""

    list_display = ("id", "owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("=id", "owner__username")
    search_help_text = "A provider's id, or its owner's user name"
    ordering = ("-created_at",)
    fields = ("id", "owner", "created_at")
    inlines = (ProviderMemberInline,)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let those who may change providers save the page, on which only members can be edited."""
        del obj
        return request.user.has_perm("credit.change_provider")
