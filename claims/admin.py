"""Claims at the back office: found, read, and moved as the API moves them."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from claims.doi import publication_key
from claims.machine import APPROVED, DISPUTED, DRAFT, LEVELS, MACHINE, PENDING, REVIEW_PERMISSION, REVOKED
from claims.models import Claim, ClaimHistory
from claims.services import set_verification_level
from config.backoffice import queues
from config.backoffice.admin import ReadOnlyAdmin, RecordAction, ReviewAdmin, SeenForm
from config.backoffice.html import NOTHING, chip, clock, code, link, moment, words
from config.backoffice.lists import among
from config.backoffice.owned import AN_ID, OwnedRecords
from config.backoffice.timeline import TimelineEntry

# No law sets this clock; it is what the back office holds itself to.
REVIEW_DAYS = 14
_WAITING = (PENDING, DISPUTED)
_QUEUES = {"review": _WAITING, "disputes": (DISPUTED,)}


def in_queue(name: str) -> QuerySet[Claim]:
    """Return the claims that wait: what the landing page counts and its list shows. None is a tombstone."""
    return Claim.objects.filter(status__in=_QUEUES[name])


class QueueFilter(admin.SimpleListFilter):
    """What waits on whom; a queue starts with what has waited longest."""

    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the queues."""
        del request, model_admin
        return [("review", "To review"), ("disputes", "Disputed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Claim]) -> QuerySet[Claim]:
        """Keep the queue's claims."""
        del request
        return queryset & in_queue(name) if (name := self.value() or "") in _QUEUES else queryset


class DeletedFilter(admin.SimpleListFilter):
    """Whether the owner has deleted the claim."""

    title = "deleted by its owner"
    parameter_name = "deleted"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the two kinds."""
        del request, model_admin
        return [("no", "No"), ("yes", "Yes")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Claim]) -> QuerySet[Claim]:
        """Keep one kind."""
        del request
        if self.value() not in {"yes", "no"}:
            return queryset
        return queryset.filter(deleted_at__isnull=self.value() == "no")


class LevelForm(SeenForm):
    """How far the claim was verified."""

    level = forms.ChoiceField(
        choices=[(level, words(level)) for level in LEVELS],
        label="Verification level",
        help_text="As far as you checked.",
    )


def _set_level(_request: HttpRequest, claim: Claim, form: Any) -> str:
    """Set the level that the form names; return what happened."""
    set_verification_level(claim, form.cleaned_data["level"], now=timezone.now())
    return f"The claim is now {words(claim.verification_level)}."


def _gone(claim: Claim) -> str:
    """Say why nothing can be done with a tombstone."""
    return "Its owner has deleted the claim." if claim.deleted_at else ""


@admin.register(Claim)
class ClaimAdmin(OwnedRecords, ReviewAdmin):
    """Claims: found, read, and moved as the API moves them; tombstones are kept for audit."""

    machine = MACHINE
    review_permission = REVIEW_PERMISSION
    move_labels = {
        APPROVED: "Approve",
        REVOKED: "Revoke",
        DISPUTED: "Mark as disputed",
        PENDING: "Send to review",
        DRAFT: "Send back to draft",
    }
    reason_required = frozenset({REVOKED, DISPUTED})
    record_actions = (
        RecordAction(
            name="level",
            label="Set verification level",
            permission=REVIEW_PERMISSION,
            run=_set_level,
            form=LevelForm,
            refusal=_gone,
            seen=lambda claim: f"{claim.verification_level}:{claim.updated_at.isoformat()}",
            consequences=lambda claim: [
                f"The level is “{words(claim.verification_level)}” now; whoever reads the claim sees the new one.",
                "The owner is sent the event claim.updated.",
            ],
        ),
    )
    list_display = ("short_id", "status_chip", "age", "publication", "claim_type", "level", "visibility", "person")
    list_filter = (QueueFilter, "status", "verification_level", "visibility", DeletedFilter)
    list_defer = ("evidence", "notes")
    personal_fields = ("evidence", "notes")
    search_help_text = f"{AN_ID}; a publication's identifier or DOI; a person's user name (its beginning) or id"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "identifier", "status_chip", "age", "person", "publication_id", "doi", "claim_type", "level",
                    "visibility", "created", "content_changed", "approved", "revoked", "deleted",
                )
            },
        ),
        ("What the person sent", {"fields": ("evidence_list", "notes")}),
    )  # fmt: skip

    # --- Lists --------------------------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Claim]:
        """Show tombstones, too."""
        del request
        return Claim.with_tombstones.all()

    def get_ordering(self, request: HttpRequest) -> Any:
        """Start a queue with what has waited longest, everything else with what is newest."""
        return ("updated_at", "id") if request.GET.get("queue") else ("-id",)

    def search_by_name(self, term: str) -> Q | None:
        """Find a claim by its id, or a publication's by its identifier."""
        key = publication_key(term)
        # The index of publications holds what was not deleted.
        of_publication = Q(publication_key=key, deleted_at__isnull=True)
        named = super().search_by_name(term)
        is_publication = key != term or "/" in term
        if named is None and (is_publication or Claim.with_tombstones.filter(of_publication).exists()):
            return of_publication
        return named

    # --- Columns and facts --------------------------------------------------------------------------------------

    @admin.display(description="waits", ordering="updated_at")
    def age(self, record: Claim) -> SafeString | str:
        """Show how long it has waited for a reviewer."""
        if record.status not in _WAITING or record.deleted_at is not None:
            return NOTHING
        return clock(timezone.now() - record.updated_at, days=REVIEW_DAYS)

    @admin.display(description="publication", ordering="publication_key")
    def publication(self, record: Claim) -> str:
        """Show the one spelling of the publication's identifier."""
        return record.publication_key

    @admin.display(description="found under")
    def doi(self, record: Claim) -> SafeString | str:
        """Show the key of the publication."""
        return code(record.publication_key)

    @admin.display(description="verification", ordering="verification_level")
    def level(self, record: Claim) -> str:
        """Show how far it was verified."""
        return words(record.verification_level)

    @admin.display(description="evidence")
    def evidence_list(self, record: Claim) -> SafeString | str:
        """Show the evidence as text: addresses are not links, nobody should follow one by accident."""
        rows: Any = record.evidence
        return format_html_join("", "<div>{}</div>", ((text,) for text in rows)) if rows else NOTHING

    @admin.display(description="created")
    def created(self, record: Claim) -> SafeString | str:
        """Show when it was made."""
        return moment(record.created_at)

    @admin.display(description="content changed")
    def content_changed(self, record: Claim) -> SafeString | str:
        """Show when the owner last changed what is claimed."""
        return moment(record.content_changed_at)

    @admin.display(description="first approved")
    def approved(self, record: Claim) -> SafeString | str:
        """Show when it was first approved."""
        return moment(record.approved_at)

    @admin.display(description="revoked")
    def revoked(self, record: Claim) -> SafeString | str:
        """Show when it was revoked."""
        return moment(record.revoked_at)

    @admin.display(description="deleted")
    def deleted(self, record: Claim) -> SafeString | str:
        """Show when its owner deleted it."""
        return moment(record.deleted_at)

    # --- The page -----------------------------------------------------------------------------------------------

    def seen_state(self, record: Claim) -> str:
        """Bind a move to what was claimed when the page was drawn, too."""
        return f"{super().seen_state(record)}:{record.updated_at.isoformat()}"

    def notices_of(self, record: Claim) -> list[str]:
        """Say what a reviewer could overlook."""
        notices = []
        if gone := _gone(record):
            notices.append(gone)
        changed, approved = record.content_changed_at, record.approved_at
        if (
            record.status in {APPROVED, DISPUTED}
            and changed is not None
            and approved is not None
            and changed > approved
        ):
            notices.append("The owner changed the claim after it was first approved.")
        return notices

    def own_entries(self, record: Claim) -> Iterable[TimelineEntry]:
        """Add the beginning and the end to the moves."""
        yield TimelineEntry(at=record.created_at, title="Created", status=DRAFT, actor=record.user.get_username())
        yield from super().own_entries(record)
        if record.deleted_at is not None:
            yield TimelineEntry(
                at=record.deleted_at,
                title="Deleted by its owner",
                actor=str(record.deleted_by),
                credential=record.deleted_with,
            )


@admin.register(ClaimHistory)
class ClaimHistoryAdmin(ReadOnlyAdmin):
    """Every move of every claim, newest first."""

    list_display = ("when", "claim_link", "move", "changed_by", "principal", "credential", "reason")
    list_select_related = ("principal",)
    list_filter = (("status", among(MACHINE.statuses)),)
    ordering = ("-id",)

    @admin.display(description="when")
    def when(self, record: ClaimHistory) -> SafeString | str:
        """Show the moment."""
        return moment(record.changed_at)

    @admin.display(description="claim")
    def claim_link(self, record: ClaimHistory) -> SafeString | str:
        """Link the claim."""
        address = reverse("admin:claims_claim_change", args=[record.claim_id])
        return link(address, f"…{str(record.claim_id)[-12:]}")

    @admin.display(description="move")
    def move(self, record: ClaimHistory) -> SafeString | str:
        """Show where to."""
        return chip(record.status)


queues.register(
    queues.Queue(
        name="claims",
        title="Claims to review",
        permission=REVIEW_PERMISSION,
        rows=lambda _user, _now: in_queue("review"),
        waiting_since="updated_at",
        address="/admin/claims/claim/?queue=review",
        calm="No claim waits.",
        urgent_days=REVIEW_DAYS,
        rank=40,
    )
)
