"""The admin of records that belong to applications: transitions, revisions, proposals, and ledger records."""

from collections.abc import Collection
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.db.models import BooleanField, Q, QuerySet, UUIDField, Value
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.backoffice.bases import HistoryAdmin, ReadOnlyAdmin, ReviewAdmin
from config.backoffice.consoles import may
from config.backoffice.html import NOTHING, chip, code, column, document, moment, record_link
from config.backoffice.lists import ConditionFilter, among
from config.backoffice.people import person_name
from config.backoffice.queues import Queue
from config.backoffice.records import Button
from config.core.ids import parse_positive_int64, parse_uuid
from credit.console.names import legal_names, person_cell
from credit.console.proposals import TwoReviewers, decision_in_words, facts_of, proposer_name
from credit.core.figures import money, reference_of
from credit.core.jurisdictions import Conventions
from credit.core.machine import MACHINE
from credit.models import Application, ApplicationHistory, ApplicationRevision, DecisionAnchor, Proposal
from credit.models.review import RETURN_REASON, as_members


class TitledByApplication(ReadOnlyAdmin):
    """The base admin of an application's records.

    Lists of other admins show these records with the application's reference.
    """

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
        """Return the rows of the case for the page of a record. A subclass can add rows about the record."""
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
    """The base admin of records about applications. Viewers without access to applications can open these records."""

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
        """Return the applicant's account ID.

        For records of versions and keys, return None, because they have no personal data.
        """
        return None if record.application is None else record.application.consumer_id

    proof_document = column(document, "proof", "proof")
    state = column(lambda anchored_at: chip("anchored" if anchored_at else "pending"), "anchored_at", "state")


def _waits_for(user: Any) -> Q:
    """Return the condition for open proposals that `user` did not make."""
    return Q(closed_at__isnull=True) & ~Q(proposed_by_id=user.pk)


class OpenFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {
        "yours": ("Waiting for you", lambda request: _waits_for(request.user)),
        "open": ("Waiting", Q(closed_at__isnull=True)),
        "ended": ("Ended", Q(closed_at__isnull=False)),
    }


@admin.register(Proposal)
class ProposalAdmin(WithCase):
    list_display = ("proposed", "about", "amount", "decision", "proposer", "state", "ended_by")
    list_filter = (OpenFilter,)
    list_select_related = ("application", "proposed_by", "closed_by")
    ordering = ("proposed_at",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        if obj is None or obj.closed_at is None:
            return ("about", "state")
        returned = ("returned",) if obj.outcome == Proposal.DECLINED else ()
        return ("about", "state", *returned, "ended_by", "closed_at")

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        return {**super().page_of(request, record), "proposed": facts_of(record.application, record)}

    @admin.display(description="requested")
    def amount(self, record: Any) -> str:
        currency = Conventions.of(record.application.offer_snapshot or {}).shown_currency
        return money(record.application.amount_cents, currency) or NOTHING

    proposed = column(moment, "proposed_at", "proposed", ordering="proposed_at")
    decision = column(chip, "to", "decision")

    @admin.display(description="proposed by")
    def proposer(self, record: Proposal) -> str:
        return proposer_name(record)

    @admin.display(description="closed by")
    def ended_by(self, record: Proposal) -> str:
        return NOTHING if record.closed_by is None else person_name(record.closed_by)

    def title_of(self, record: Any) -> str:
        decision, reference = decision_in_words(record.to), reference_of(record.application_id)
        return f"of {decision} for {reference}, {self.outcome_of(record)}"

    @admin.display(description="reason of the return")
    def returned(self, record: Any) -> SafeString | str:
        reason = as_members(record.metadata).get(RETURN_REASON) if record.outcome == Proposal.DECLINED else None
        return str(reason) if reason else NOTHING

    @staticmethod
    def outcome_of(record: Any) -> str:
        return "returned to review" if record.outcome == Proposal.DECLINED else str(record.outcome or "waiting")

    @admin.display(description="state")
    def state(self, record: Any) -> SafeString | str:
        return chip(self.outcome_of(record))

    def buttons_of(self, request: HttpRequest, row: Proposal) -> list[Button]:
        if row.closed_at is not None:
            return []
        record_admin = cast("TwoReviewers", self.admin_site.get_model_admin(Application))
        record = record_admin.get_object(request, str(row.application_id))
        if record is None or not record_admin.may_review(request, record):
            return []
        shown = record_admin.show_proposal(request, record, row)
        confirm, close = (record_admin.address_of("proposal", record.pk, row.pk, verb) for verb in ("confirm", "close"))
        return [
            Button("confirm", shown["label"], confirm, shown["why"]),
            Button("close", shown["close_label"], close, ""),
        ]


QUEUE = Queue(
    name="four-eyes",
    title="Proposals that need your confirmation",
    permission="credit.view_proposal",
    rows=lambda user: Proposal.objects.filter(_waits_for(user)),
    waiting_since="proposed_at",
    address="/admin/credit/proposal/?state=yours",
    calm="No proposals are waiting for you.",
    urgent_days=2,
    rank=15,
)
