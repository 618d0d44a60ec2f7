"""The list and the pages of proposals in the back office."""

from typing import Any, cast

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.backoffice.html import NOTHING, chip, column, moment
from config.backoffice.lists import ConditionFilter
from config.backoffice.queues import Queue
from config.backoffice.records import Button
from credit.console.proposal_facts import decision_in_words, facts_of
from credit.console.proposals import TwoReviewers
from credit.console.records import WithCase
from credit.core.figures import money, reference_of
from credit.core.jurisdictions import Conventions
from credit.models import Application, Proposal
from credit.models.review import RETURN_REASON, as_members


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
    list_display = ("proposed", "about", "amount", "decision", "proposer", "state", "closed_by")
    list_filter = (OpenFilter,)
    list_select_related = ("application", "proposed_by", "closed_by")
    ordering = ("proposed_at",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        if obj is None or obj.closed_at is None:
            return ("about", "state")
        returned = ("returned",) if obj.outcome == Proposal.DECLINED else ()
        return ("about", "state", *returned, "closed_by", "closed_at")

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        return {**super().page_of(request, record), "proposed": facts_of(record.application, record)}

    @admin.display(description="requested")
    def amount(self, record: Any) -> str:
        currency = Conventions.of(record.application.offer_snapshot or {}).shown_currency
        return money(record.application.amount_cents, currency) or NOTHING

    proposed = column(moment, "proposed_at", "proposed", ordering="proposed_at")
    decision = column(chip, "to", "decision")
    proposer = column(str, "proposer", "proposed by")

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
