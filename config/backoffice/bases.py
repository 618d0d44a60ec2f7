"""Base classes of every app's admin.

`ReadOnlyAdmin` is for rows that the back office must not add, change, or delete. A `RecordAction` adds a button with an
action (`config.backoffice.records`). `OwnedRecords` is a `ReadOnlyAdmin` for records that an account owns.

`ReviewAdmin` is for a model with a lifecycle (`config.core.lifecycle`). A record's page displays fields, possible
transitions, and a timeline. A complete example:

    @admin.register(Claim)
    class ClaimAdmin(ReviewAdmin):
        machine = MACHINE
        review_permission = "claims.review_claim"
        transition_labels = {"approved": "Approve", "revoked": "Revoke"}
        reason_required = frozenset({"revoked", "disputed"})
        list_display = ("short_id", "status_chip", "person", "claim_type", "created_at")
        list_filter = ("status",)
        fieldsets = ((None, {"fields": ("identifier", "status_chip", "person", …)}),)

Methods to override: `make_transition` executes a transition. `notices_of` returns remarks above the fields.
`own_entries` returns entries of the timeline. `consequences_of` returns sentences for the confirmation.
`transition_form` is the form, and `transition_forms` has the forms of single statuses. `seen_state` returns a record's
state. If the state changes before the confirmation, the decision is rejected.
"""

import re
from functools import partial
from typing import Any, ClassVar, cast
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from config.backoffice.consoles import console_of, may, narrowed, sides_of
from config.backoffice.forms import SeenForm, TransitionForm
from config.backoffice.html import chip, column, moment
from config.backoffice.personal import present_beside
from config.backoffice.records import OwnedRecords, ReadOnlyAdmin, RecordAction, show_secret, within_list
from config.backoffice.transitions import Transitions
from config.core.casework import Assignment, Note, SavedView, named
from config.core.errors import ApiError

__all__ = [
    "HistoryAdmin", "OwnedRecords", "ReadOnlyAdmin", "RecordAction", "ReviewAdmin", "SeenForm", "TransitionForm",
    "show_secret",
]  # fmt: skip

ROWS_MAX = 500  # the maximum number of rows in a bulk transition
NOTE_MAX_LENGTH = 4_000
VIEWS_MAX, VIEW_NAME_MAX_LENGTH, QUERY_MAX_LENGTH = 20, 40, 1_000


class HistoryAdmin(ReadOnlyAdmin):
    """Admin for rows about an account's record, such as its history. `about` is the foreign key to the record.

    Rows are masked if the record is masked.
    """

    about: ClassVar[str]
    is_about_people = True
    list_select_related: ClassVar[Any] = ("principal",)
    ordering = ("-id",)

    def of_record(self, row: Any) -> tuple[Any, Any]:
        record = getattr(row, self.about)
        return record, self.admin_site.get_model_admin(type(record))

    def subject_of(self, record: Any) -> int | None:
        owner_record, its_admin = self.of_record(record)
        subject: int | None = its_admin.subject_of(owner_record)
        return subject

    def works_on_record(self, request: HttpRequest, record: Any) -> bool:
        owner_record, its_admin = self.of_record(record)
        return bool(its_admin.works_on_record(request, owner_record))

    when = column(moment, "changed_at", "when")
    transition = column(chip, "status", "transition")


class ReviewAdmin(Transitions):
    """Admin for records with a lifecycle, with transitions of single and of many records, and assignments.

    Each of `bulk_transitions` is an action of the list, with a preview, a confirmation, and a result for each record.
    The action processes each row in a separate transaction. It skips rows that changed after the preview, and rows
    whose transition is not allowed. The result contains the reason for each skipped row.
    """

    bulk_transitions: ClassVar[tuple[str, ...]] = ()

    def get_urls(self) -> list[Any]:
        return [
            self.list_path("bulk/<slug:to>/", self.bulk_view, "bulk"),
            self.list_path("views/", self.views_view, "views"),
            self.review_path("assign/", self.assign_view, "assign"),
            self.review_path("note/", self.note_view, "note"),
            *super().get_urls(),
        ]

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        page = super().page_of(request, record)
        if not page["may_review"]:
            return page
        name = named(record)
        work = Assignment.in_force(self.review_permission, **name, provider=self.side_of(request, record))
        return {
            **page,
            "assignment": work.select_related("assignee", "assigned_by").first(),
            "assign_address": within_list(self.address_of("assign", record.pk), request),
            "notes": list(
                narrowed(Note.objects.filter(**name), request.user).select_related("author", "mentioned")[:200]
            ),
            "note_address": within_list(self.address_of("note", record.pk), request),
            "beside": present_beside(request.user, now=timezone.now(), **name),
        }

    def side_of(self, request: HttpRequest, record: Any) -> str:
        """Return the lender for which the viewer works on a record, or "" for staff."""
        return next(iter(sides_of(request.user, self.provider_of(record))))

    def lenders_colleagues(self, provider_id: str) -> QuerySet[Any]:  # noqa: ARG002
        """Select the accounts that decide about a lender's records."""
        return get_user_model()._default_manager.none()

    def colleagues_of(self, request: HttpRequest, record: Any) -> list[Any]:
        if console_of(request.user) is not None:
            people = self.lenders_colleagues(self.side_of(request, record))
        else:
            people = get_user_model()._default_manager.with_perm(self.review_permission).filter(is_staff=True)
        others = people.exclude(pk=cast("Any", request.user).pk).order_by("username")
        return list(others.only("pk", "username")[:200])

    def note_view(self, request: HttpRequest, record: Any) -> HttpResponse:
        """Store a note for colleagues (POST: `text`). Notify the first mentioned colleague (`@name`)."""
        back = HttpResponseRedirect(self.record_address(record, request))
        text = request.POST.get("text", "").strip()
        if request.method != "POST":
            return back
        if not text or len(text) > NOTE_MAX_LENGTH or "\x00" in text:
            messages.error(request, f"A note must have 1 to {NOTE_MAX_LENGTH:,} characters.")
            return back
        names = {word.rstrip(".,;:!?)") for word in re.findall(r"@(\S{1,150})", text)}
        colleagues = {colleague.get_username(): colleague for colleague in self.colleagues_of(request, record)}
        mentioned = next((colleague for name, colleague in colleagues.items() if name in names), None)
        self.add_note(request, record, text, mentioned=mentioned)
        notified = f" {mentioned} gets a notification." if mentioned else ""
        messages.success(request, f"The note is stored.{notified}")
        # An `@` inside a word can belong to an email address.
        named_accounts = (word.rstrip(".,;:!?)") for word in re.findall(r"(?<!\S)@(\w\S{0,149})", text))
        if unknown := next((name for name in named_accounts if name not in colleagues), None):
            messages.warning(request, f"“{unknown}” can't review this record, and gets no notification.")
        return back

    def add_note(self, request: HttpRequest, record: Any, text: str, *, mentioned: Any = None) -> None:
        facts: dict[str, Any] = {"author": request.user, "mentioned": mentioned, "text": text}
        Note.objects.create(**named(record), provider=self.side_of(request, record), **facts, at=timezone.now())

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        saved = SavedView.objects.filter(owner=cast("Any", request.user), kind=self.opts.label_lower)
        views = {"saved_views": list(saved), "views_address": self.address_of("views")}
        return super().changelist_view(request, {**views, **(extra_context or {})})

    def views_view(self, request: HttpRequest) -> HttpResponse:
        """Save the list's search and filters (POST: `name`, `query`), or delete a saved view (POST: `forget`)."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        name, query = request.POST.get("name", "").strip(), request.POST.get("query", "").removeprefix("?")
        back = HttpResponseRedirect(f"{self.address_of('changelist')}?{urlencode(parse_qsl(query[:QUERY_MAX_LENGTH]))}")
        if request.method != "POST":
            return back
        mine = SavedView.objects.filter(owner=cast("Any", request.user), kind=self.opts.label_lower)
        if forgotten := request.POST.get("forget"):
            mine.filter(name=forgotten).delete()
        elif not 0 < len(name) <= VIEW_NAME_MAX_LENGTH or len(query) > QUERY_MAX_LENGTH or "\x00" in name + query:
            messages.error(request, f"The name of a view must have 1 to {VIEW_NAME_MAX_LENGTH} characters.")
        elif mine.count() >= VIEWS_MAX:
            messages.error(request, f"At most {VIEWS_MAX} views. Delete one first.")
        else:
            facts: dict[str, Any] = {"owner": request.user, "kind": self.opts.label_lower, "name": name}
            SavedView.objects.update_or_create(**facts, defaults={"query": urlencode(parse_qsl(query))})
        return back

    def assign_view(self, request: HttpRequest, record: Any) -> HttpResponse:
        """List the possible assignees of a record (GET), or assign the record (POST).

        In a POST, `assignee` is "me", a user's ID, or empty to remove the assignment.
        """
        back = HttpResponseRedirect(self.record_address(record, request))
        if request.method != "POST":
            title, address = f"Assign {self.kind} {self.name_of(request, record)}", self.address_of("assign", record.pk)
            page = {"assign_address": within_list(address, request), "colleagues": self.colleagues_of(request, record)}
            return self.draw(request, "backoffice/assign.html", record, title=title, **page)
        chosen, me = request.POST.get("assignee", ""), cast("Any", request.user)
        if not chosen:
            Assignment.objects.filter(**named(record), provider=self.side_of(request, record)).delete()
            self.log_change(request, record, "Assignment removed.")
            messages.success(request, "The assignment was removed.")
            return back
        people = {"me": me, **{str(person.pk): person for person in self.colleagues_of(request, record)}}
        assignee = people.get(chosen)
        if assignee is None:
            messages.error(request, "That user can't review these records.")
            return back
        self.assign(request, record, assignee)
        messages.success(request, f"Assigned to {'you' if chosen == 'me' else assignee}.")
        return back

    def assign(self, request: HttpRequest, record: Any, assignee: Any) -> None:
        """Assign a record for the viewer's organization, and log the assignment."""
        facts = {"assignee": assignee, "assigned_by": request.user, "assigned_at": timezone.now()}
        Assignment.objects.update_or_create(**named(record), provider=self.side_of(request, record), defaults=facts)
        self.log_change(request, record, f"Assigned to {assignee}.")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        if not may(request.user, self.review_permission):
            return {}
        return {
            f"move_to_{to}": (partial(type(self).preview_bulk, to=to), f"move_to_{to}", f"{self.label_of(to)} …")
            for to in self.bulk_transitions
        }

    def bulk_form(self, request: HttpRequest, to: str, data: Any = None) -> TransitionForm:
        return self.form_of(request, to, data, initial={"seen": "bulk"})

    def bulk_row(
        self, request: HttpRequest, record: Any, *, seen: str = "", refusal: object = None, text: str = ""
    ) -> dict[str, Any]:
        return {
            "record": record,
            "name": self.name_of(request, record),
            "address": self.address_of("change", record.pk),
            "chip": chip(record.status),
            "seen": f"{record.pk}|{seen}",
            "refusal": str(refusal or ""),
            "text": text,
        }

    def preview_bulk(self, request: HttpRequest, chosen: QuerySet[Any], *, to: str) -> HttpResponse | None:
        records = list(chosen.defer(None)[: ROWS_MAX + 1])
        if len(records) > ROWS_MAX:
            messages.error(request, f"At most {ROWS_MAX} at once. Select fewer.")
            return None
        actor, rows = self.actor_of(request), []
        for record in records:
            is_theirs = self.may_review(request, record)
            refusal = record.check_transition(to, actor) if is_theirs else "You can't review this record."
            refusal = self.refusal_in_words(record, to, refusal)
            rows.append(self.bulk_row(request, record, seen=self.seen_state(record), refusal=refusal))
        return self.bulk_page(request, to, self.bulk_form(request, to), rows)

    def bulk_page(
        self, request: HttpRequest, to: str, form: TransitionForm | None, rows: list[dict[str, Any]]
    ) -> HttpResponse:
        if form is not None:
            form.focus()
        label = self.label_of(to)
        return self.draw(
            request,
            f"backoffice/bulk{'_result' if form is None else ''}.html",
            title=f"{label}: results" if form is None else f"{label}: {len(rows)} selected",
            label=label,
            rows=rows,
            summarized="preview" not in request.POST,
            possible=sum(not row["refusal"] for row in rows),
            form=form,
            to_chip=chip(to),
            to=to,
            bulk_address=f"{self.address_of('changelist')}bulk/{to}/",
        )

    def bulk_view(self, request: HttpRequest, to: str) -> HttpResponse:
        """Execute the transition separately for each confirmed row, and display the results (POST)."""
        if to not in self.bulk_transitions or not may(request.user, self.review_permission):
            raise PermissionDenied
        back = HttpResponseRedirect(self.address_of("changelist"))
        confirmed = [row.partition("|") for row in request.POST.getlist("row")]
        if not confirmed:
            messages.warning(request, "You selected no rows.")
            return back
        if len(confirmed) > ROWS_MAX:
            messages.error(request, f"At most {ROWS_MAX} at once. Select fewer.")
            return back
        records = [(self.get_object(request, identifier), seen) for identifier, _, seen in confirmed]
        chosen = [(record, seen) for record, seen in records if record is not None]
        form = self.bulk_form(request, to, request.POST)
        if not form.is_valid() or "preview" in request.POST or form.inserted:
            return self.bulk_page(
                request, to, form, [self.bulk_row(request, record, seen=seen) for record, seen in chosen]
            )
        results = [self.decide_row(request, record, form, seen) for record, seen in chosen]
        return self.bulk_page(request, to, None, results)

    def decide_row(self, request: HttpRequest, record: Any, form: TransitionForm, seen: str) -> dict[str, Any]:
        if not self.may_review(request, record):
            return self.bulk_row(request, record, refusal="You can't review this record.")
        try:
            outcome = {"text": self.decide(request, record.pk, form, seen)}
        except ApiError as error:
            outcome = {"refusal": self.refusal_in_words(record, form.to, error)}
        record.refresh_from_db(fields=["status"])
        return self.bulk_row(request, record, **outcome)
