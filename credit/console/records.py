"""The admin of records that belong to applications: transitions, revisions, and ledger records."""

from collections.abc import Collection
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.db.models import BooleanField, QuerySet, UUIDField, Value
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.backoffice.bases import HistoryAdmin, ReadOnlyAdmin, ReviewAdmin
from config.backoffice.consoles import may
from config.backoffice.html import chip, code, column, document, record_link
from config.backoffice.lists import among
from config.core.ids import parse_positive_int64, parse_uuid
from credit.console.names import legal_names, person_cell
from credit.core.figures import reference_of
from credit.core.machine import MACHINE
from credit.models import Application, ApplicationHistory, ApplicationRevision, DecisionAnchor


class TitledByApplication(ReadOnlyAdmin):
    """The base admin of an application's records. Other lists show a record with the application's reference."""

    def titles_of(self, request: HttpRequest, ids: Collection[str]) -> dict[str, str]:  # noqa: ARG002
        parse = parse_uuid if isinstance(self.opts.pk, UUIDField) else parse_positive_int64
        rows = self.model._default_manager.filter(pk__in=[parse(pk) for pk in ids], application__isnull=False)
        return {str(pk): f"of {reference_of(number)}" for pk, number in rows.values_list("pk", "application_id")}


class OfApplication(TitledByApplication):
    """The base admin of an application's records. The data subject is the applicant."""

    is_about_people = True
    list_select_related: ClassVar[Any] = ("application",)
    search_fields = ("=application__id",)
    search_help_text = "An application's id"

    def subject_of(self, record: Any) -> int:
        return int(record.application.consumer_id)

    @admin.display(description="application")
    def about(self, record: Any) -> SafeString | str:
        names = legal_names(record.application, is_masked=getattr(record, "is_masked", False))
        reference = reference_of(record.application_id)
        return person_cell(names, record_link("credit_application", record.application_id, reference))


class WithCase(OfApplication):
    """The base admin of an application's records. The page of a record has a summary of the application."""

    change_form_template = "credit/backoffice_with_case.html"

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        page = super().page_of(request, record)
        cases = cast("ReviewAdmin", self.admin_site.get_model_admin(Application))
        case = cases.get_object(request, str(record.application_id))
        if case is None or not cases.has_view_permission(request, case):
            return page
        if cases.is_masked_for(request, case):
            cases.mask_for(request, case)
        about = {"case_address": cases.address_of("change", case.pk), "case_name": reference_of(case.pk)}
        return {**page, "case": self.case_rows(request, record, cases.case_of(request, case), case), **about}

    def case_rows(self, request: HttpRequest, record: Any, rows: list[Any], case: Any) -> list[Any]:  # noqa: ARG002
        """Return the rows of the case for the page of a record. An override can add rows about the record."""
        return rows


_APPLICATION = column(
    lambda pk: record_link("credit_application", pk, pk and reference_of(pk)), "application_id", "application"
)


@admin.register(ApplicationHistory)
class ApplicationHistoryAdmin(HistoryAdmin):
    about = "application"
    list_display = ("when", "application_link", "transition", "changed_by", "principal", "credential", "reason")
    list_filter = (("status", among(MACHINE.statuses)),)

    application_link = _APPLICATION


@admin.register(ApplicationRevision)
class ApplicationRevisionAdmin(HistoryAdmin):
    about = "application"
    application_link = _APPLICATION
    list_display = ("when", "application_link", "status", "sha256", "updated_by", "principal", "credential")
    list_defer = ("changes",)
    # `changes` is excluded, because only the application's page shows personal data, to viewers with permission.
    fields = (
        "application", "status", "sha256", "applicants_sha256", "updated_by", "changed_at", "principal", "credential",
    )  # fmt: skip


class ReferenceAdmin(TitledByApplication):
    """The base admin of an application's records that viewers without access to applications can open."""

    @admin.display(description="application")
    def reference(self, record: Any) -> SafeString | str:
        """Display the reference, as a link for viewers who can open applications."""
        text = record.application_id and reference_of(record.application_id)
        return record_link("credit_application", record.application_id, text) if record.opens else code(text)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        opens = Value(may(request.user, "credit.view_application"), output_field=BooleanField())
        rows: QuerySet[Any] = super().get_queryset(request).annotate(opens=opens)
        return rows


@admin.register(DecisionAnchor)
class DecisionAnchorAdmin(ReferenceAdmin):
    """The admin of ledger records, newest first."""

    is_about_people = True
    list_display = (
        "record_sha256", "report_type", "state", "reference", "attempts", "block_number", "last_error",
    )  # fmt: skip
    list_filter = (("anchored_at", admin.EmptyFieldListFilter),)
    list_defer = ("openings", "proof", "proof_file")
    ordering = ("-id",)
    fields = (
        "record_sha256", "report_type", "state", "application_id", "record", "openings", "signed_by", "signature",
        "due_at", "attempts", "last_error", "anchored_at", "block_number", "proof_document", "proof_file",
    )  # fmt: skip

    def subject_of(self, record: DecisionAnchor) -> int | None:
        """Return the applicant's account ID. Return None for versions and keys, because they have no personal data."""
        return None if record.application is None else record.application.consumer_id

    proof_document = column(document, "proof", "proof")
    state = column(lambda anchored_at: chip("anchored" if anchored_at else "pending"), "anchored_at", "state")
