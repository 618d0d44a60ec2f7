"""Admins of accesses, failed items, log entries, assignments, mentions, and reply templates."""

from contextlib import suppress
from typing import Any, ClassVar

from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.consoles import console_of, may
from config.backoffice.html import NOTHING, change_address, code, column, details, link, moment
from config.backoffice.lists import ConditionFilter
from config.backoffice.personal import PersonalData
from config.backoffice.queues import Queue
from config.backoffice.records import ReadOnlyAdmin, RecordAction
from config.core.casework import Assignment, DataAccess, Note, ReplyTemplate
from config.core.ids import parse_positive_int64
from config.core.registration import declared
from config.ops import failed_items
from config.ops.models import FailedItem


class RecordNamedAdmin(ReadOnlyAdmin):
    """Admin for rows that refer to a record by its kind and id."""

    shows_names: ClassVar[bool] = False  # True if the titles of records can contain personal data

    def named_by(self, row: Any) -> tuple[str, str]:
        return row.kind, row.record_id

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return self.fields or self.list_display

    def describe_records(self, request: HttpRequest, rows: list[Any]) -> None:
        """Set the title and the URL of each row's record, with at most one query for each kind of record.

        The URL is empty if the viewer may not open the record's page.
        """
        names = [self.named_by(row) for row in rows]
        admins = {kind: self.admin_of(kind) for kind, _ in names}
        titles: dict[tuple[str, str], str] = {}
        for kind, model_admin in admins.items():
            ids = {record_id for of_kind, record_id in names if of_kind == kind and record_id}
            if model_admin is not None and ids:
                read = model_admin.names_of if self.shows_names else model_admin.titles_of
                titles |= {(kind, pk): title for pk, title in read(request, ids).items()}
        for row, (kind, record_id) in zip(rows, names, strict=True):
            app_label, _, model = kind.partition(".")
            model_admin, row.address = admins[kind], ""
            if model_admin is None:
                row.record_title = f"{model or kind} {record_id}".strip()
            elif record_id:
                row.record_title = f"{model_admin.kind} {titles.get((kind, record_id)) or record_id}"
            else:
                row.record_title = f"list: {model_admin.title_of_list(request)}"
            if record_id and may(request.user, f"{app_label}.view_{model}"):
                with suppress(NoReverseMatch):
                    row.address = change_address(f"{app_label}_{model}", record_id)

    def admin_of(self, kind: str) -> ReadOnlyAdmin | None:
        try:
            model_admin = self.admin_site.get_model_admin(apps.get_model(kind))
        except (LookupError, ValueError, NotRegistered):
            return None
        return model_admin if isinstance(model_admin, ReadOnlyAdmin) else None

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        super().rows_shown(request, rows)
        self.describe_records(request, rows)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None and not hasattr(row, "record_title"):
            self.describe_records(request, [row])
        return row

    @admin.display(description="record")
    def record(self, row: Any) -> SafeString | str:
        return link(row.address, row.record_title) if row.address else row.record_title

    @admin.display(description="record's id")
    def record_id_shown(self, row: Any) -> SafeString | str:
        return code(self.named_by(row)[1])


class MaskedFilter(ConditionFilter):
    title, parameter_name = "data", "was_masked__exact"
    conditions = {"1": ("Masked", Q(was_masked=True)), "0": ("In clear", Q(was_masked=False))}


@admin.register(DataAccess)
class DataAccessAdmin(RecordNamedAdmin):
    list_display = ("when", "viewer", "action", "subject", "record", "data_shown", "reason")
    list_filter = ("action", MaskedFilter)
    list_select_related = ("viewer", "subject")
    search_fields = ("id",)
    search_help_text = "The user name of the viewer or of the viewed user, a record's id, or person:42 for a user's id"
    ordering = ("-id",)
    fields = (
        "when", "viewer", "provider", "action", "subject", "record", "record_id_shown", "data_shown", "reason", "what",
        "request_id",
    )  # fmt: skip

    when = column(moment, "at", "when", ordering="id")
    what = column(details, "details", "details")

    @admin.display(description="data")
    def data_shown(self, row: DataAccess) -> str:
        if row.action == DataAccess.REFUSED:
            return NOTHING
        return "masked" if row.was_masked else "in clear"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[DataAccess], search_term: str  # noqa: ARG002
    ) -> tuple[QuerySet[DataAccess], bool]:  # fmt: skip
        term = search_term.strip()
        if not term:
            return queryset, False
        if term.startswith("person:"):
            subject_id = parse_positive_int64(term.removeprefix("person:"))
            return (queryset.none() if subject_id is None else queryset.filter(subject_id=subject_id)), False
        people = list(get_user_model()._default_manager.filter(username__iexact=term).values_list("pk", flat=True))
        if people:
            return queryset.filter(Q(viewer_id__in=people) | Q(subject_id__in=people)), False
        kinds = [model._meta.label_lower for model in apps.get_models()]
        return queryset.filter(kind__in=kinds, record_id=term), False


class DeadFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {
        "dead": ("Dead letters", Q(dead_at__isnull=False)),
        "waiting": ("The worker retries them", Q(dead_at=None)),
    }


def _retry(_request: HttpRequest, item: FailedItem, _form: Any) -> str:
    failed_items.retry(item, now=timezone.now())
    return "The worker processes the item now."


@admin.register(FailedItem)
class FailedItemAdmin(RecordNamedAdmin):
    """Admin for failed items. An item has a kind, a primary key, an exception's type, and times."""

    list_title = "Dead letters"
    list_display = ("kind", "record", "error", "failures", "kills", "last_failed", "retries", "dead")
    list_filter = (DeadFilter,)
    search_fields = ("=key",)
    search_help_text = "The primary key of the item's row"
    ordering = ("-last_failed_at",)
    fields = (
        "kind", "record", "record_id_shown", "error", "failures", "kills", "first_failed", "last_failed", "retries",
        "dead",
    )  # fmt: skip
    record_actions = (
        RecordAction(
            name="retry",
            label="Retry",
            permission="ops.change_faileditem",
            run=_retry,
            seen=lambda item: f"{item.failures}:{item.kills}:{item.dead_at}",
            consequences=lambda _item: [
                "The worker processes the item in its next run. Other items continue meanwhile.",
                (
                    "If the item ended a worker process before, the worker processes it alone. If the item ends two "
                    "more processes, it becomes a dead letter again."
                ),
            ],
        ),
    )

    first_failed = column(moment, "first_failed_at", "first failed")
    last_failed = column(moment, "last_failed_at", "last failed", ordering="last_failed_at")
    retries = column(moment, "retry_at", "next attempt")
    dead = column(moment, "dead_at", "dead letter since")

    def named_by(self, row: FailedItem) -> tuple[str, str]:
        """Return the model of the failed record and its key. The model is "" for records without a page."""
        return dict(declared("failed_item_models")).get(row.kind, ""), row.key

    def page_of(self, request: HttpRequest, record: FailedItem) -> dict[str, Any]:
        kind = "Failed item" if record.dead_at is None else "Dead letter"
        return {**super().page_of(request, record), "title": f"{kind} {record}"}


@admin.register(LogEntry)
class LogEntryAdmin(RecordNamedAdmin):
    list_display = ("when", "user", "what", "record")
    list_filter = ("action_flag",)
    fields = ("when", "user", "what", "record", "record_id_shown")
    list_select_related = ("user", "content_type")
    search_fields = ("user__username__startswith", "=object_id")
    search_help_text = "The beginning of a user name, or a record's id"
    ordering = ("-id",)

    when = column(moment, "action_time", "when", ordering="id")

    def named_by(self, row: LogEntry) -> tuple[str, str]:
        """Return the record's kind and ID. For a deleted model, return only the record's name."""
        if row.content_type is None:
            return row.object_repr, ""
        return f"{row.content_type.app_label}.{row.content_type.model}", row.object_id or ""

    @admin.display(description="what")
    def what(self, row: LogEntry) -> str:
        return row.get_change_message() or row.get_action_flag_display()


@admin.register(Assignment)
class AssignmentAdmin(RecordNamedAdmin):
    shows_names = True
    list_display = ("assigned", "record", "provider", "assignee", "assigned_by")
    fields = ("assigned", "record", "record_id_shown", "provider", "assignee", "assigned_by")
    list_filter = (("assignee", admin.RelatedOnlyFieldListFilter),)
    list_select_related = ("assignee", "assigned_by")
    ordering = ("assigned_at",)

    assigned = column(moment, "assigned_at", "assigned", ordering="assigned_at")


class MentionFilter(ConditionFilter):
    title, parameter_name = "recipient", "to"
    conditions = {
        "me": ("Me, unread", lambda request: Q(pk__in=Note.unread_by(request.user))),
        "mine": ("By me", lambda request: Q(author=request.user)),
    }


@admin.register(Note)
class NoteAdmin(RecordNamedAdmin):
    shows_names = True
    list_display = ("written", "record", "provider", "author", "mentioned", "text")
    fields = ("written", "record", "record_id_shown", "provider", "author", "mentioned", "text")
    list_filter = (MentionFilter,)
    list_select_related = ("author", "mentioned")
    ordering = ("-id",)

    written = column(moment, "at", "written", ordering="id")


@admin.register(ReplyTemplate)
class ReplyTemplateAdmin(PersonalData):
    """Reply templates. Staff write templates for staff, and members of a lender write templates for its members."""

    list_display = ("name", "use", "text")
    list_filter = ("use",)
    search_fields = ("name",)
    fields = ("provider", "use", "name", "text")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "view", obj) or self._may(request, "change", obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "change", obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "delete", obj)

    def _may(self, request: HttpRequest, verb: str, template: Any = None) -> bool:
        console, provider = console_of(request.user), "" if template is None else template.provider
        writes = not provider if console is None else template is None or console.decides_for(provider)
        return (verb == "view" or writes) and may(request.user, f"backoffice.{verb}_replytemplate")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Restrict a template's lender: members choose a lender for which they decide, and staff choose none."""
        console = console_of(request.user)
        if db_field.name != "provider":
            return super().formfield_for_dbfield(db_field, request, **options)
        if console is None:
            return forms.CharField(required=False, disabled=True, widget=forms.HiddenInput)
        own = [(seat.provider_id, seat.provider_id) for seat in console.seats if seat.decides]
        return forms.ChoiceField(choices=own, label="Lender")


QUEUES = (
    Queue(
        name="dead_letters",
        title="Dead letters",
        permission="ops.change_faileditem",
        rows=lambda _user: failed_items.dead_letters(),
        waiting_since="dead_at",
        address="/admin/ops/faileditem/?state=dead",
        calm="There are no dead letters.",
        urgent_days=1,
        rank=55,
    ),
    Queue(
        name="own",
        title="Assigned to you",
        permission="backoffice.view_assignment",
        rows=lambda user: Assignment.objects.filter(assignee_id=user.pk),
        waiting_since="assigned_at",
        address=lambda user: f"/admin/backoffice/assignment/?assignee__id__exact={user.pk}",
        calm="Nothing is assigned to you. Open a record to assign it to yourself.",
        rank=5,
    ),
    Queue(
        name="mentions",
        title="Notes to you",
        permission="backoffice.view_note",
        rows=Note.unread_by,
        waiting_since="at",
        address="/admin/backoffice/note/?to=me",
        calm="You have no unread notes.",
        rank=15,
    ),
)
