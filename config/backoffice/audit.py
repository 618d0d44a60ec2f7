"""The back office's own lists: who saw whose data, who did what, whose work is what, what waits for a second person."""

from datetime import datetime
from typing import Any, cast

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString

from config.backoffice import queues
from config.backoffice.html import chip, code, document, link, moment
from config.backoffice.models import Assignment, DataAccess, Proposal
from config.backoffice.records import Button, ReadOnlyAdmin
from config.backoffice.teamwork import TeamworkAdmin
from config.core.ids import parse_positive_int64


def record_link(kind: str, record_id: str, *, is_linked: bool) -> SafeString | str:
    """Return a link to the page of a record of any app; its plain name where there is none to be opened."""
    app_label, _, model = kind.partition(".")
    if not record_id:
        return kind
    if not is_linked:
        return code(f"{model} {record_id}")
    try:
        return link(reverse(f"admin:{app_label}_{model}_change", args=[record_id]), f"{model} {record_id}")
    except NoReverseMatch:
        return code(f"{kind} {record_id}")


class RecordNamedAdmin(ReadOnlyAdmin):
    """A list of rows that name a record."""

    def kind_of(self, row: Any) -> str:
        """Return what kind of record the row names."""
        return str(row.kind)

    def mark_links(self, request: HttpRequest, rows: list[Any]) -> None:
        """Note which rows' records this viewer may open: nobody is offered a link that is refused."""
        for row in rows:
            app_label, _, model = self.kind_of(row).partition(".")
            row.is_linked = request.user.has_perm(f"{app_label}.view_{model}")

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        """Mark the rows of a list."""
        super().rows_shown(request, rows)
        self.mark_links(request, rows)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Mark the row of a page."""
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            self.mark_links(request, [row])
        return row

    @admin.display(description="record")
    def record(self, row: Any) -> SafeString | str:
        """Name the record, and link it for those who may open it."""
        return record_link(row.kind, row.record_id, is_linked=row.is_linked)


@admin.register(DataAccess)
class DataAccessAdmin(RecordNamedAdmin):
    """Who saw or took which person's data. Searched by viewer, person and record."""

    list_display = ("when", "viewer", "action", "subject", "record", "was_masked", "reason")
    list_filter = ("action", "was_masked")
    list_select_related = ("viewer", "subject")
    search_fields = ("id",)
    search_help_text = "A user's name (as viewer or as the person seen), person:42 for a person's id, or a record's id"
    ordering = ("-id",)
    fields = (
        "when", "viewer", "action", "subject", "record", "was_masked", "reason", "what", "request_id",
    )  # fmt: skip

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[DataAccess], search_term: str
    ) -> tuple[QuerySet[DataAccess], bool]:
        """Find by what an index can answer."""
        del request
        term = search_term.strip()
        if not term:
            return queryset, False
        if term.startswith("person:"):
            subject_id = parse_positive_int64(term.removeprefix("person:"))
            return (queryset.none() if subject_id is None else queryset.filter(subject_id=subject_id)), False
        users = DataAccess._meta.get_field("viewer").related_model._default_manager
        people = list(users.filter(username=term).values_list("pk", flat=True))
        if people:
            return queryset.filter(Q(viewer_id__in=people) | Q(subject_id__in=people)), False
        kinds = [model._meta.label_lower for model in apps.get_models()]
        return queryset.filter(kind__in=kinds, record_id=term), False

    @admin.display(description="when", ordering="id")
    def when(self, row: DataAccess) -> SafeString | str:
        """Show the moment."""
        return moment(row.at)

    @admin.display(description="details")
    def what(self, row: DataAccess) -> SafeString | str:
        """Show what a list or an export was asked for."""
        return document(row.details)


@admin.register(LogEntry)
class LogEntryAdmin(RecordNamedAdmin):
    """Who did what at the backoffice."""

    list_display = ("when", "user", "what", "record")
    list_filter = ("action_flag",)
    list_select_related = ("user", "content_type")
    search_fields = ("user__username__startswith", "=object_id")
    search_help_text = "The beginning of a user's name, or a record's id"
    ordering = ("-id",)
    fields = ("when", "user", "what", "record")

    def kind_of(self, row: LogEntry) -> str:
        """Return what kind of record was acted on."""
        return "" if row.content_type is None else f"{row.content_type.app_label}.{row.content_type.model}"

    @admin.display(description="when", ordering="id")
    def when(self, row: LogEntry) -> SafeString | str:
        """Show the moment."""
        return moment(row.action_time)

    @admin.display(description="what")
    def what(self, row: LogEntry) -> str:
        """Show what was done, in words."""
        return row.get_change_message() or row.get_action_flag_display()

    @admin.display(description="record")
    def record(self, row: LogEntry) -> SafeString | str:
        """Link the record."""
        kind = self.kind_of(row)
        if not kind:
            return row.object_repr
        return record_link(kind, row.object_id or "", is_linked=getattr(row, "is_linked", False))


def _for(user: Any, rows: QuerySet[Proposal]) -> QuerySet[Proposal]:
    """Keep the proposals that wait for `user`: nobody confirms their own."""
    return rows.filter(closed_at__isnull=True).exclude(proposed_by_id=user.pk)


class OpenFilter(admin.SimpleListFilter):
    """Proposals that wait, or have ended."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the states."""
        del request, model_admin
        return [("yours", "Waiting for you"), ("open", "Waiting"), ("ended", "Ended")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Proposal]) -> QuerySet[Proposal]:
        """Keep one of them."""
        if self.value() == "yours":
            return _for(request.user, queryset)
        if self.value() not in {"open", "ended"}:
            return queryset
        return queryset.filter(closed_at__isnull=self.value() == "open")


@admin.register(Proposal)
class ProposalAdmin(RecordNamedAdmin):
    """Decisions that take two people; confirmed from here or from the record's page."""

    list_display = ("proposed", "record", "decision", "proposed_by", "state", "closed_by")
    list_filter = (OpenFilter,)
    list_select_related = ("proposed_by", "closed_by")
    ordering = ("proposed_at",)
    fields = (
        "proposed",
        "record",
        "decision",
        "reason",
        "what",
        "seen",
        "proposed_by",
        "state",
        "closed_by",
        "closed_at",
    )

    def buttons_of(self, request: HttpRequest, row: Proposal) -> list[Button]:
        """Offer those who decide about the record what its own page offers: to confirm the proposal, or to end it."""
        if row.closed_at is not None:
            return []
        record_admin = cast("TeamworkAdmin", self.admin_site.get_model_admin(apps.get_model(row.kind)))
        record = record_admin.get_object(request, row.record_id)
        if record is None or not record_admin.may_review(request, record):
            return []
        shown = record_admin.show_proposal(request, record, row)
        confirm, close = (record_admin.address_of("proposal", record.pk, row.pk, verb) for verb in ("confirm", "close"))
        void = "The record changed since, so nobody can confirm it."
        return [
            Button("confirm", f"Confirm: {shown['label']}", confirm, void if shown["is_void"] else shown["why"]),
            Button("close", shown["close_label"], close, ""),
        ]

    @admin.display(description="proposed", ordering="proposed_at")
    def proposed(self, row: Proposal) -> SafeString | str:
        """Show when."""
        return moment(row.proposed_at)

    @admin.display(description="decision")
    def decision(self, row: Proposal) -> SafeString:
        """Show what for."""
        return chip(row.to)

    @admin.display(description="state")
    def state(self, row: Proposal) -> SafeString:
        """Show whether it waits, or how it ended."""
        return chip(row.outcome or "open")

    @admin.display(description="metadata")
    def what(self, row: Proposal) -> SafeString | str:
        """Show what belongs to the decision."""
        return document(row.metadata)


@admin.register(Assignment)
class AssignmentAdmin(RecordNamedAdmin):
    """Whose work is what: one's own first."""

    list_display = ("assigned", "record", "assignee", "assigned_by")
    list_filter = (("assignee", admin.RelatedOnlyFieldListFilter),)
    list_select_related = ("assignee", "assigned_by")
    ordering = ("assigned_at",)
    fields = ("assigned", "record", "assignee", "assigned_by")

    @admin.display(description="assigned", ordering="assigned_at")
    def assigned(self, row: Assignment) -> SafeString | str:
        """Show since when."""
        return moment(row.assigned_at)


def _own_work(user: Any, now: datetime) -> QuerySet[Assignment]:
    """Return what is assigned to `user`."""
    del now
    return Assignment.objects.filter(assignee_id=user.pk)


queues.register(
    queues.Queue(
        name="own",
        title="Assigned to you",
        permission="backoffice.view_assignment",
        rows=_own_work,
        waiting_since="assigned_at",
        address=lambda user: f"/admin/backoffice/assignment/?assignee__id__exact={user.pk}",
        calm="Nothing is assigned to you. Open a record to take it.",
        rank=5,
    )
)
queues.register(
    queues.Queue(
        name="four-eyes",
        title="Waiting for a second pair of eyes",
        permission="backoffice.view_proposal",
        rows=lambda user, _now: _for(user, Proposal.objects.all()),
        waiting_since="proposed_at",
        address="/admin/backoffice/proposal/?state=yours",
        calm="No decision of a colleague waits for you.",
        urgent_days=2,
        rank=15,
    )
)
