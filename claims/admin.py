from collections.abc import Collection, Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from claims.doi import publication_key
from claims.machine import APPROVED, DISPUTED, DRAFT, LEVELS, MACHINE, PENDING, REVIEW_PERMISSION, REVOKED
from claims.models import Claim, ClaimHistory
from claims.services import set_verification_level
from config.backoffice.bases import HistoryAdmin, RecordAction, ReviewAdmin, SeenForm
from config.backoffice.consoles import narrowed
from config.backoffice.html import NOTHING, clock, code, column, moment, record_link, words
from config.backoffice.lists import ConditionFilter, among
from config.backoffice.people import by_status
from config.backoffice.queues import Queue
from config.backoffice.records import AN_ID
from config.backoffice.timeline import TimelineEntry
from config.core.ids import parse_uuid

# An internal target of the back office. No law sets this deadline.
REVIEW_DAYS = 14
_WAITING = (PENDING, DISPUTED)


class QueueFilter(ConditionFilter):
    title, parameter_name = "queue", "queue"
    conditions = {
        "review": ("To review", Q(status__in=_WAITING, deleted_at=None)),
        "disputes": ("Disputed", Q(status=DISPUTED, deleted_at=None)),
    }


class DeletedFilter(ConditionFilter):
    title, parameter_name = "deleted by the owner", "deleted"
    conditions = {"no": ("No", Q(deleted_at__isnull=True)), "yes": ("Yes", Q(deleted_at__isnull=False))}


class LevelForm(SeenForm):
    level = forms.ChoiceField(
        choices=[(level, words(level)) for level in LEVELS],
        label="Verification level",
        help_text="The level to which you checked the claim.",
    )


def _set_level(_request: HttpRequest, claim: Claim, form: Any) -> str:
    set_verification_level(claim, form.cleaned_data["level"], now=timezone.now())
    return f"The claim is now {words(claim.verification_level)}."


def _gone(claim: Claim) -> str:
    return "The owner deleted the claim." if claim.deleted_at else ""


def _evidence(text: Any) -> SafeString | str:
    is_address = isinstance(text, str) and text.lower().startswith(("http://", "https://"))
    # The linked page is untrusted, so it must not get this page's URL (`noreferrer`) or control (`noopener`).
    return format_html('<a href="{0}" rel="noopener noreferrer nofollow">{0}</a>', text) if is_address else str(text)


@admin.register(Claim)
class ClaimAdmin(ReviewAdmin):
    machine = MACHINE
    review_permission = REVIEW_PERMISSION
    transition_labels = {
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
                f"The level is now “{words(claim.verification_level)}”. Readers of the claim see the level.",
                "The owner gets the event claim.updated.",
            ],
        ),
    )
    list_display = ("short_id", "status_chip", "age", "publication", "claim_type", "level", "visibility", "person")
    list_filter = (QueueFilter, "status", "verification_level", "visibility", DeletedFilter)
    list_defer = ("evidence", "notes")
    search_help_text = f"{AN_ID}; a publication's identifier or DOI; the beginning of a user name; a user's id"
    fieldsets = (
        (None, {"fields": (
            "identifier", "age", "person", "publication_id", "doi", "claim_type", "level",
            "visibility", "created", "content_changed", "approved", "revoked", "deleted",
        )}),
        ("Applicant's data", {"fields": ("evidence_list", "notes")}),
    )  # fmt: skip

    publication = column(str, "publication_key", "publication", ordering="publication_key")
    doi = column(code, "publication_key", "found by")
    level = column(words, "verification_level", "verification", ordering="verification_level")
    created = column(moment, "created_at", "created")
    content_changed = column(moment, "content_changed_at", "content changed")
    approved = column(moment, "approved_at", "first approved")
    revoked = column(moment, "revoked_at", "revoked")
    deleted = column(moment, "deleted_at", "deleted")

    @admin.display(description="waits", ordering="updated_at")
    def age(self, record: Claim) -> SafeString | str:
        if record.status not in _WAITING or record.deleted_at is not None:
            return NOTHING
        return clock(timezone.now() - record.updated_at, days=REVIEW_DAYS)

    @admin.display(description="evidence")
    def evidence_list(self, record: Claim) -> SafeString | str:
        """Show the evidence. Only `http` and `https` URLs become links."""
        rows: Any = record.evidence
        return format_html_join("", "<div>{}</div>", ((_evidence(text),) for text in rows)) if rows else NOTHING

    def title_of(self, record: Claim) -> str:
        return record.publication_key

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        numbers = [*filter(None, map(parse_uuid, ids))]
        keys = Claim.with_tombstones.filter(pk__in=numbers).order_by().values_list("pk", "publication_key")
        return {str(pk): key for pk, key in keys}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Claim]:
        return narrowed(Claim.with_tombstones.order_by("-pk"), request.user)

    def search_by_name(self, term: str) -> Q | None:
        key = publication_key(term)
        # The index on `publication_key` contains only claims that are not deleted.
        of_publication = Q(publication_key=key, deleted_at__isnull=True)
        named = super().search_by_name(term)
        is_publication = key != term or "/" in term
        if named is None and (is_publication or Claim.with_tombstones.filter(of_publication).exists()):
            return of_publication
        return named

    def seen_state(self, record: Claim) -> str:
        """Add the time of the last update to the state, so that a decision on an outdated page is rejected."""
        return f"{super().seen_state(record)}:{record.updated_at.isoformat()}"

    def notices_of(self, record: Claim) -> list[str]:
        notices = [gone] if (gone := _gone(record)) else []
        changed, approved = record.content_changed_at, record.approved_at
        if record.status in {APPROVED, DISPUTED} and changed and approved and changed > approved:
            notices.append("The owner changed the claim after it was first approved.")
        return notices

    def own_entries(self, request: HttpRequest, record: Claim) -> Iterable[TimelineEntry]:
        yield TimelineEntry(at=record.created_at, title="Created", status=DRAFT, actor=record.user.get_username())
        yield from super().own_entries(request, record)
        if record.deleted_at is not None:
            yield TimelineEntry(
                at=record.deleted_at,
                title="Deleted by the owner",
                actor=str(record.deleted_by),
                credential=record.deleted_with,
            )


@admin.register(ClaimHistory)
class ClaimHistoryAdmin(HistoryAdmin):
    about = "claim"
    list_select_related = ("principal", "claim")
    list_display = ("when", "claim_link", "transition", "changed_by", "principal", "credential", "reason")
    list_filter = (("status", among(MACHINE.statuses)),)

    @admin.display(description="claim")
    def claim_link(self, record: Any) -> SafeString | str:
        return record_link("claims_claim", record.claim_id, record.claim.publication_key)


QUEUE = Queue(
    name="claims",
    title="Claims to review",
    permission=REVIEW_PERMISSION,
    rows=lambda _user: Claim.objects.filter(status__in=_WAITING),
    waiting_since="updated_at",
    address="/admin/claims/claim/?queue=review",
    calm="No claims are waiting.",
    urgent_days=REVIEW_DAYS,
    rank=40,
)
LINES = by_status("Publication claims", Claim)
