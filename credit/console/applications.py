"""Applications in the back office: search, pages, and decisions under the same rules as in the API."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.backoffice.bases import ReviewAdmin
from config.backoffice.consoles import VIEW, console_of, may
from config.backoffice.html import (
    NOTHING,
    chip,
    clock,
    code,
    column,
    details,
    duration,
    moment,
    record_link,
    table,
    words,
)
from config.backoffice.people import find_accounts, person_name
from config.backoffice.personal import MASK
from config.backoffice.records import AN_ID, Button
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry, history_entries
from config.core.ids import parse_positive_int64, parse_uuid
from config.core.lifecycle import Actor
from credit.applications.services import IDLE_DAYS
from credit.console import queues
from credit.console.case_summary import numbers_of, person_of, stated_of, summary_of, with_case
from credit.console.decision_forms import FORMS, ApplicationTransitionForm
from credit.console.decision_words import DecisionWords
from credit.console.documents import Checklist, file_entries
from credit.console.exports import ApplicationExport, assignees_of
from credit.console.facts import FactsConsole
from credit.console.holds import HoldConsole
from credit.console.names import legal_names, person_cell
from credit.console.notices import VIEW_REQUESTS
from credit.console.offers import in_brief
from credit.console.people import FOUND_MAX, find_applications
from credit.console.proposals import TwoReviewers, both_names, proposal_entries
from credit.console.queues import REVIEW_DAYS, UNDECIDED
from credit.console.reconsideration import ReconsiderationConsole, ReopeningConsole, request_entries
from credit.console.score_panel import score_panel
from credit.console.terms import LoanConsole, counteroffer_entries, withdrawal_entries
from credit.console.timeline import anchor_entries, entries_around, revision_entries
from credit.core import machine as states
from credit.core.figures import PLAIN_AMOUNT, amount_in, end_of_id, money, reference_of
from credit.documents.requests import request_documents
from credit.models import Application, ApplicationRevision, Offer, ProviderMember
from credit.models.applications import WITH_CURRENCY

NOT_WAITING = queues.Waiting()
SHARED_IN_WORDS = {"bank": "bank data", "identity": "the identity check"}


def _shared(areas: Any) -> str:
    return ", ".join(SHARED_IN_WORDS[area] for area in areas) or "nothing else"


def _terms(terms: Any) -> SafeString | str:
    return (
        table(in_brief(terms)) if terms else "None: the application is not submitted, or the offer is not in this list."
    )


@admin.register(Application)
class ApplicationAdmin(
    DecisionWords, ApplicationExport, ReopeningConsole, ReconsiderationConsole, LoanConsole, TwoReviewers, FactsConsole,
    Checklist, HoldConsole, ReviewAdmin,
):  # fmt: skip
    """The admin of applications. A decision fails if the application changed after the reviewer opened the page."""

    machine = states.MACHINE
    transition_labels = {
        states.APPROVED: "Approve",
        states.REJECTED: "Reject",
        states.COUNTEROFFER: "Make a counteroffer",
        states.PENDING_DOCUMENTS: "Request documents",
        states.UNDER_REVIEW: "Start the review",
        states.SUBMITTED: "Submit",
        states.WITHDRAWN: "Withdraw",
    }
    transition_form, transition_forms = ApplicationTransitionForm, FORMS
    bulk_transitions = (states.UNDER_REVIEW, states.PENDING_DOCUMENTS, states.APPROVED, states.REJECTED)
    export_columns = (
        "id", "status", "consumer_id", "offer_id", "provider_id", "initial_status", "moves", "created_at",
        "submitted_at", "reviewed_at", "reviewed_by", "status_reason", "updated_at",
    )  # fmt: skip
    review_permission = "credit.review_application"
    reason_required = frozenset({states.PENDING_DOCUMENTS})
    ends_work = frozenset({*states.DECIDED, states.WITHDRAWN, states.EXPIRED})
    change_form_template = "credit/backoffice_application.html"
    list_display = ("reference", "person", "amount", "status_chip", "age", "offer", "assignee", "submitted")
    list_filter = (
        queues.QueueFilter, "status", queues.AgeFilter, queues.AssigneeFilter, queues.SubmittedFilter,
        queues.ProviderFilter, queues.AmountFilter,
    )  # fmt: skip
    list_select_related = ("consumer",)
    list_defer = ("application_data", "applicant_index", "notes")
    owner = "consumer"
    search_help_text = (
        f"A reference such as A-3F9C21AB; an amount such as $20,000, 20,000 EUR, or 20000; {AN_ID}; a person's user"
        " name (its beginning), id, whole words of a name, email address or phone; an offer's or a lender's id as"
        " offer:17 or provider:1001 (also searches the newest)"
    )
    fieldsets = (
        ("The application", {"fields": (
            "offer", "provider", "created", "submitted", "reviewed", "status_reason", "changed", "shared", "notes",
        )}),
        ("Technical data", {"classes": ("collapse",), "fields": (
            "identifier", "data", "data_sha256", "data_changed_by", "applicants_digest", "pinned_version",
            "pinned_terms",
        )}),
    )  # fmt: skip

    shared = column(_shared, "share", "shared with the lender")
    pinned_terms = column(_terms, "offer_snapshot", "offer's terms at the submission")
    submitted = column(moment, "submitted_at", "submitted", ordering="submitted_at")
    changed = column(moment, "updated_at", "last change", ordering="updated_at")
    applicants_digest = column(code, "applicants_sha256", "SHA-256 of the applicants with a nonce")
    reference = column(lambda pk: code(reference_of(pk)), "pk", "application", ordering="id")
    assignee = column(lambda name: name or NOTHING, "assignee_name", "assignee")
    pinned_version = column(lambda version: str(version or NOTHING), "offer_version", "offer's version")

    @admin.display(description="amount", ordering="amount_cents")
    def amount(self, record: Any) -> str:
        cents = record.amount_cents
        if isinstance(cents, int):
            return money(cents, record.shown_currency)
        return NOTHING if cents is None else str(cents)

    @admin.display(description="data as sent")
    def data(self, record: Any) -> SafeString | str:
        return details(record.application_data, record.currency)

    def reference_of(self, record: Any) -> str:
        return reference_of(record.pk)

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: Any) -> SafeString | str:
        texts = (record.status, *getattr(record, "waiting", NOT_WAITING).chips)
        return format_html_join(" ", "{}", ((chip(text),) for text in texts))

    def get_ordering(self, request: HttpRequest) -> Any:
        """Sort applications to review by submission, oldest first. Each possible order has a database index."""
        queue = request.GET.get("queue")
        if queue == "review" or request.GET.get("age"):
            return ("submitted_at", "id")
        if not queue and console_of(request.user) is not None:
            return ("-submitted_at", "-id")
        return super().get_ordering(request) if queue == "documents" else ("-id",)

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        super().rows_shown(request, rows)
        assignees = assignees_of(request.user, [row.pk for row in rows])
        names = dict(Offer.objects.filter(pk__in={row.offer_id for row in rows}).values_list("pk", "name"))
        waiting = queues.waiting_of(rows, request.user)
        for row in rows:
            row.waiting = waiting.get(row.pk, NOT_WAITING)
            row.assignee_name, row.offer_name = assignees.get(str(row.pk), ""), names.get(row.offer_id, "")

    def search_by_name(self, term: str) -> Q | None:
        end = end_of_id(term)
        return super().search_by_name(term) if end is None else Application.has_reference(end)

    def search_by_person(self, request: HttpRequest, term: str) -> Q:
        """Return the condition for applications of the applicants or accounts with this name or contact data."""
        application_ids, has_more = find_applications(term, request.user)
        if has_more:
            text = f"The list has only the newest {FOUND_MAX} matches. Search for the whole name to find others."
            messages.info(request, text)
        return Q(pk__in=application_ids) | Q(consumer_id__in=find_accounts(term, request.user))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Application], search_term: str
    ) -> tuple[QuerySet[Application], bool]:
        term = search_term.strip()
        name, colon, number = term.partition(":")
        if colon and name in {"offer", "provider"}:
            wanted: dict[str, Any] = {f"{name}_id": parse_positive_int64(number.strip())}
        elif (amount := amount_in(term)) is not None:
            # Viewers with masked amounts must not infer the amounts from search results.
            matching_rows = queryset.filter(amount_cents=amount[0]).filter(queues.in_currencies(amount[1]))
            return (matching_rows if may(request.user, VIEW) else queryset.none()), False
        else:
            matching_rows, has_duplicates = super().get_search_results(request, queryset, search_term)
            is_amount = PLAIN_AMOUNT.fullmatch(term) and may(request.user, VIEW)
            # A plain number is only treated as an amount if it matches no id, phone number, or user name.
            if is_amount and not matching_rows.exists():
                return queryset.filter(queues.of_amount(int(term))), False
            return matching_rows, has_duplicates
        return queryset.filter(pk__in=self.newest(request).filter(**wanted).values("pk")), False

    @admin.display(description="age", ordering="submitted_at")
    def age(self, record: Any) -> SafeString | str:
        """Display the time left to accept an open counteroffer.

        Without a counteroffer, display how long the application has waited, and the deadline for its decision or
        expiry.
        """
        now = timezone.now()
        if until := getattr(record, "waiting", NOT_WAITING).until:
            return format_html('<span class="clock">{} left to accept</span>', duration(until - now))
        if record.status in UNDECIDED:
            return clock(now - (record.submitted_at or record.created_at), days=REVIEW_DAYS)
        if record.status in IDLE_DAYS and record.accepted_at is None:
            return clock(now - record.updated_at, days=IDLE_DAYS[record.status])
        return NOTHING

    @admin.display(description="offer", ordering="offer_id")
    def offer(self, record: Any) -> SafeString | str:
        name = record.offer_name
        if not name:
            return f"{record.offer_id} (not listed here)"
        return record_link("credit_offer", record.offer_id, f"{name} ({record.offer_id})")

    @admin.display(description="person", ordering="consumer_id")
    def person(self, record: Application) -> SafeString | str:
        return person_cell(legal_names(record), super().person(record))

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        return {pk: reference_of(number) for pk in ids if (number := parse_uuid(pk)) is not None}

    def names_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:
        titles = self.titles_of(request, ids)
        rows = list(self.get_queryset(request).filter(pk__in=titles).only("consumer", "applicants"))
        super().rows_shown(request, rows)  # this masks the rows, and logs the access
        return titles | {str(row.pk): self.title_of(row) for row in rows}

    def title_of(self, record: Application) -> str:
        return " · ".join(filter(None, (legal_names(record), reference_of(record.pk))))

    @admin.display(description="lender")
    def provider(self, record: Any) -> SafeString | str:
        if record.lender_name is None:
            return f"{record.provider_id} (not known here)"
        name = f"{record.lender_name} ({record.provider_id})" if record.lender_name else None
        return record_link("credit_provider", record.provider_id, name)

    @admin.display(description="created", ordering="created_at")
    def created(self, record: Application) -> SafeString | str:
        return format_html("{} as {}", moment(record.created_at), words(record.initial_status))

    @admin.display(description="decided")
    def reviewed(self, record: Application) -> SafeString | str:
        if record.reviewed_at is None:
            return NOTHING
        return format_html("{} by {}", moment(record.reviewed_at), record.reviewed_by)

    @admin.display(description="SHA-256 of the data")
    def data_sha256(self, record: Application) -> SafeString | str:
        return code(getattr(record, "true_digest", None) or record.data_sha256)

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Remove the amount filter for viewers with masked amounts."""
        return self.list_filter if may(request.user, VIEW) else self.list_filter[:-1]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Omit fields without a value."""
        absent = {name for name in ("submitted", "reviewed") if getattr(obj, f"{name}_at", None) is None}
        absent |= {name for name in ("status_reason", "notes") if not getattr(obj, name, None)}
        return [
            (title, {**options, "fields": [name for name in options["fields"] if name not in absent]})
            for title, options in super().get_fieldsets(request, obj)
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Application]:
        """Add data about the offer and the applicant to the query of an application's page."""
        rows: QuerySet[Application] = super().get_queryset(request).annotate(**WITH_CURRENCY)
        if not self.is_record_page(request):
            return rows
        newest = ApplicationRevision.objects.select_related("principal")[:ENTRIES_MAX]
        return with_case(rows, request.user).prefetch_related(Prefetch("revisions", newest, to_attr="newest_revisions"))

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        is_lender = console_of(request.user) is not None
        page = super().page_of(request, record)
        loan, proposal = self.loan_panel(request, record), page.get("proposal")
        record.waiting = queues.Waiting(bool(proposal and not proposal["is_void"]), loan["until"] if loan else None)
        answers = {button.name for button in page.get("reconsideration", {}).get("answers", ())}
        actions = [button for button in page["actions"] if button.name not in answers]
        # If the case waits for another reviewer or the applicant, the menu contains the decisions.
        waiting = [*self.proposal_buttons(page), *self.counteroffer_buttons(page, loan)]
        return {
            **page,
            "actions": waiting or actions,
            "rare": [*(actions if waiting else ()), *page["rare"]],
            "title": self.title_of(record),
            "lead": self.amount(record),
            "status": self.status_chip(record),
            "age": self.age(record),
            # The toolbar displays a valid amount.
            "numbers": [row for row in numbers_of(record) if row["name"] != "Amount" or row["wrong"]],
            "stated": stated_of(record),
            "score": score_panel(record, revisions=record.newest_revisions, viewer=request.user),
            "loan": loan,
            "person": person_of(record, viewer=request.user),
            "timeline_link": "" if is_lender else self.timeline_link(request),
        }

    def bar_of(self, record: Application, transitions: Iterable[Button]) -> tuple[list[Button], list[Button]]:
        actions, rare = super().bar_of(record, transitions)
        return sorted(actions, key=lambda button: button.name == states.PENDING_DOCUMENTS), rare

    def case_of(self, request: HttpRequest, record: Application) -> list[dict[str, Any]]:
        rows = [*summary_of(record, viewer=request.user), *self.document_rows(request, record)]
        return [*rows, *super().case_of(request, record)]

    def timeline_link(self, request: HttpRequest) -> tuple[str, str]:
        """Return the link that switches between this application's events and all events of the applicant."""
        query = request.GET.copy()
        if query.pop("events", None):
            return f"?{query.urlencode()}", "Only this application's events"
        query["events"] = "all"
        return f"?{query.urlencode()}", "Also other events of the applicant"

    def make_transition(self, record: Application, to: str, *, actor: Actor, reason: str | None, metadata: Any) -> None:
        super().make_transition(record, to, actor=actor, reason=reason, metadata=metadata)
        if to == states.PENDING_DOCUMENTS:
            language = metadata.get("language")
            request_documents(record, metadata["documents"], by=actor.user, now=timezone.now(), language=language)

    @property
    def retained_fields(self) -> tuple[str, ...]:
        # The other fields are the offer's terms and the shared areas, which need no mask.
        return self.hidden_fields

    def mask_record(self, record: Application) -> None:
        """Mask the applicants and the data. The digest of the data reveals nothing, so it remains visible."""
        if record.__dict__.get("applicants") is not None:
            record.applicants = MASK
        if "application_data" in record.__dict__:
            record.true_digest = record.data_sha256  # type: ignore[attr-defined]
        super().mask_record(record)

    def may_review(self, request: HttpRequest, record: Application) -> bool:
        console = console_of(request.user)
        is_theirs = record.is_reviewed_by(request.user) if console is None else console.decides_for(record.provider_id)
        return is_theirs and not self.is_erased(request, record)

    def lenders_colleagues(self, provider_id: str) -> QuerySet[Any]:
        members = ProviderMember.objects.filter(provider=provider_id, role__in=ProviderMember.DECIDING)
        return get_user_model()._default_manager.filter(is_active=True, pk__in=members.values("user"))

    def seen_state(self, record: Application) -> str:
        """Return the state that must not change between the display of the page and the decision."""
        return record.reviewed_state

    def own_entries(self, request: HttpRequest, record: Any) -> Iterable[TimelineEntry]:
        """Yield timeline entries: creation, transitions, revisions, files, counteroffers, acceptance, and anchors.

        With `?events=all`, other events of the applicant follow.
        """
        began, consumer = record.initial_status, record.consumer.get_username()
        yield TimelineEntry(at=record.created_at, title="Created", status=began, actor=consumer)
        moves = list(record.history.select_related("principal", "anchor").order_by("-position")[:ENTRIES_MAX])
        sees_proposals = may(request.user, "credit.view_proposal")
        for move, entry in zip(moves, history_entries(moves), strict=True):
            yield replace(entry, facts=(*entry.facts, *both_names(move.metadata, record))) if sees_proposals else entry
        if sees_proposals:
            yield from proposal_entries(record)
        if may(request.user, VIEW_REQUESTS):
            yield from request_entries(record)
        yield from revision_entries(record, record.newest_revisions)
        yield from file_entries(record)
        yield from counteroffer_entries(record)
        yield from withdrawal_entries(record)
        for move in moves:
            yield from anchor_entries(getattr(move, "anchor", None), f"Decision {move.position}")
        if any(move.status == states.APPROVED for move in moves) or record.accepted_at:
            for acceptance in record.acceptances.select_related("principal", "anchor")[:ENTRIES_MAX]:
                yield TimelineEntry(
                    at=acceptance.accepted_at,
                    title="Accepted by the applicant",
                    actor=person_name(acceptance.principal),
                    credential=acceptance.credential,
                    facts=(("SHA-256 of the terms", acceptance.terms_sha256),),
                )
                yield from anchor_entries(getattr(acceptance, "anchor", None), "Acceptance")
        if request.GET.get("events") == "all" and console_of(request.user) is None:
            yield from entries_around(record)
