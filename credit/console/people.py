"""The list of applicants, with a search for data that applicants mention on the phone."""

import json
from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db import connection
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from config.backoffice.bases import ReadOnlyAdmin
from config.backoffice.consoles import VIEW, Console, Rule, console_of, may, narrowed
from config.backoffice.html import NOTHING, chip, column, grid, link, moment, record_link, words
from config.backoffice.people import Table, by_status, lines_about
from config.backoffice.site import ConsolePage
from credit.console.names import legal_names, person_cell
from credit.core.applicant_search import applicant_filter
from credit.core.figures import money, reference_of
from credit.models import Applicant, Application
from credit.models.applications import LENDER_NAME, WITH_CURRENCY

FOUND_MAX = 50
# Above this number of matches, a scan in ID order that stops early is faster than sorting all matches.
_COMMON = 8_000
_APPLICATIONS_SHOWN = 50
_TABLE_ROWS = 20


def find_people(typed: str, viewer: Any) -> list[int]:
    """Return the account IDs of the newest matching applications that the viewer can see."""
    return list(_matching(typed, viewer).values_list("consumer_id", flat=True)[:FOUND_MAX])


def find_applications(typed: str, viewer: Any) -> tuple[list[Any], bool]:
    """Return the IDs of the FOUND_MAX newest matching applications that the viewer can see, and whether more match."""
    matches = list(_matching(typed, viewer).values_list("pk", flat=True)[: FOUND_MAX + 1])
    return matches[:FOUND_MAX], len(matches) > FOUND_MAX


def _matching(typed: str, viewer: Any) -> QuerySet[Application]:
    """Return the matching applications that the viewer can see, newest first."""
    named = applicant_filter(typed)
    if named is None or not may(viewer, "credit.view_application"):
        return Application.objects.none()
    applications = narrowed(Application.objects.filter(named).order_by(), viewer)
    # PostgreSQL underestimates the cost of comparing names, so it would scan many rows to avoid a small sort. No index
    # has the order of `created_at`, so this order forces the sort.
    return applications.order_by("-pk" if _estimated(applications) > _COMMON else "-created_at")


def _estimated(rows: QuerySet[Any]) -> int:
    """Return PostgreSQL's estimate of the number of rows. On other databases, return a number above _COMMON."""
    if connection.vendor != "postgresql":
        return _COMMON + 1
    return int(json.loads(rows.explain(format="json"))[0]["Plan"]["Plan Rows"])


def applicants_of(sent: Rule) -> Rule:
    """Convert `sent`, a rule for applications, to a rule for the applicants of these applications."""

    def rule(console: Console) -> Q:
        return Q(Exists(Application.objects.filter(sent(console), consumer=OuterRef("pk"))))

    return rule


@admin.register(Applicant)
class ApplicantAdmin(ReadOnlyAdmin):
    """The admin of accounts that have applications. Its pages show only the user name of an account."""

    list_display = ("person", "applications", "last_sent")
    list_display_links = None
    # The list has a search box only if this is set. `get_search_results` searches applications instead.
    search_fields = ("username",)
    search_help_text = (
        "Whole words of a name; an email address, phone number or user name; an application's reference, id or amount"
    )
    ordering = ("-id",)
    fields = ("username", "id")
    export_columns = ("id", "username")
    change_form_template = "identity/backoffice_person.html"
    is_about_people = True

    def title_of_list(self, request: HttpRequest) -> str:
        """Return the title. Staff see another title, because their list "People" has all accounts."""
        return "Applicants" if console_of(request.user) is None else "People"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Applicant]:
        applied = Exists(_applications_of(OuterRef("pk"), request.user))
        return super().get_queryset(request).filter(applied, erased_at__isnull=True)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find applicants through the search of the application list."""
        if not search_term.strip():
            return queryset, False
        applications: Any = self.admin_site.get_model_admin(Application)
        seen = narrowed(Application.objects.order_by(), request.user)
        matching_rows, _ = applications.get_search_results(request, seen, search_term)
        return queryset.filter(pk__in=matching_rows.order_by().values("consumer_id")), False

    def rows_shown(self, request: HttpRequest, rows: list[Any]) -> None:
        super().rows_shown(request, rows)
        _complete(rows, request.user)

    @admin.display(description="person", ordering="id")
    def person(self, record: Any) -> SafeString | str:
        return person_cell(record.legal_names, record_link("credit_applicant", record.pk, record.get_username()))

    @admin.display(description="applications")
    def applications(self, record: Any) -> SafeString | str:
        counts = ", ".join(f"{number} {words(status)}" for status, number in record.by_status)
        return link(reverse("admin:credit_application_changelist", query={"q": f"user:{record.pk}"}), counts)

    last_sent = column(moment, "sent_at", "last submitted")

    def title_of(self, record: Any) -> str:
        return " · ".join(filter(None, (getattr(record, "legal_names", ""), record.get_username())))

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        _complete([record], request.user)
        return {
            **super().page_of(request, record),
            "title": self.title_of(record),
            "known": self._known(request, record),
        }

    def _known(self, request: HttpRequest, record: Any) -> list[tuple[str, Any]]:
        newest = _applications_of(record.pk, request.user).annotate(**WITH_CURRENCY).order_by("-id")
        rows = [
            (
                record_link("credit_application", application.pk, reference_of(application.pk)),
                money(application.amount_cents, application.shown_currency) or NOTHING,
                chip(application.status),
                moment(application.submitted_at),
            )
            for application in newest.defer("applicants", "applicant_index", "notes")[:_APPLICATIONS_SHOWN]
        ]
        return [*lines_about(record.pk, viewer=request.user), ("Newest", grid(rows))]

    def subject_of(self, record: Any) -> int:
        return int(record.pk)


def applications_about(person_id: int, viewer: Any) -> Table | None:
    """Return the newest applications of an account, without personal data."""
    if not may(viewer, "credit.view_application"):
        return None
    newest = _applications_of(person_id, viewer).annotate(lender=LENDER_NAME).order_by("-id")
    columns = ("status", "provider_id", "submitted_at", "created_at")
    rows = [
        (
            record_link("credit_application", application.pk, reference_of(application.pk)),
            chip(application.status),
            application.lender or application.provider_id,
            moment(application.submitted_at) if application.submitted_at else "Not submitted",
        )
        for application in newest.only(*columns)[:_TABLE_ROWS]
    ]
    every = reverse("admin:credit_application_changelist", query={"q": f"user:{person_id}"}) if rows else ""
    return Table("Applications", ("Reference", "Status", "Lender", "Submitted"), rows, "No applications.", every)


def _applications_of(person: Any, viewer: Any) -> QuerySet[Application]:
    return narrowed(Application.objects.filter(consumer=person).order_by(), viewer)


def _complete(people: Iterable[Any], viewer: Any) -> None:
    """Add names, counts of applications by status, and the last submission to `people`, with three queries."""
    by_id = {person.pk: person for person in people}
    for person in by_id.values():
        person.legal_names, person.by_status, person.sent_at = "", [], None
    seen = narrowed(Application.objects.filter(consumer__in=by_id).order_by(), viewer)
    counted = seen.values_list("consumer_id", "status").annotate(Count("pk"), Max("submitted_at"))
    for person_id, status, number, sent_at in counted:
        person = by_id[person_id]
        person.by_status = sorted([*person.by_status, (status, number)])
        person.sent_at = max(filter(None, (person.sent_at, sent_at)), default=None)
    named = _applications_of(OuterRef("pk"), viewer).filter(applicants__isnull=False).order_by("-pk").values("pk")[:1]
    newest = Applicant.objects.filter(pk__in=by_id).values_list(Subquery(named), flat=True)
    is_masked = not may(viewer, VIEW)
    for application in Application.objects.filter(pk__in=[*filter(None, newest)]).only("consumer_id", "applicants"):
        by_id[application.consumer_id].legal_names = legal_names(application, is_masked=is_masked)


LINES = by_status("Applications", Application, owner="consumer")
PAGES = (
    ConsolePage("credit.application", "Applications", 10, for_lenders="Applications"),
    ConsolePage("credit.applicant", "", 20, for_lenders="People"),
    ConsolePage("credit.offer", "", 30, for_lenders="Offers"),
    ConsolePage("credit.provider", "Lenders", 40, for_lenders="Team"),
    ConsolePage("credit.scoringmodel", "Scorecards", 50, for_lenders="Scorecards"),
)
