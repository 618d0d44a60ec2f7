"""The queues of waiting applications, and the filters of the application list."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.consoles import may, narrowed
from config.backoffice.lists import ConditionFilter
from config.backoffice.queues import Queue
from config.core.casework import Assignment
from config.core.currencies import with_other_places
from config.core.ids import parse_positive_int64
from credit.core.eu_credit import NO_REGIME
from credit.core.jurisdictions import EU
from credit.core.machine import APPROVED, DECIDED, IN_REVIEW, PENDING_DOCUMENTS, REJECTED, UNDER_REVIEW
from credit.models import (
    Application,
    Counteroffer,
    DecisionAnchor,
    Offer,
    Precontract,
    Proposal,
    Provider,
    RequestedDocument,
)  # fmt: skip
from credit.models.applications import REVIEW_PERMISSION

# The creditor must send the notice within 30 days of a completed application (12 CFR 1002.9(a)(1)(i)).
REVIEW_DAYS = 30
# A request for documents does not stop the deadline.
UNDECIDED = (*IN_REVIEW, PENDING_DOCUMENTS)
_LIST = "/admin/credit/application/"
# The list shows these texts next to the status of an application that waits for a second reviewer or the applicant.
PROPOSED_CHIP, COUNTEROFFER_CHIP = "proposal waits", "counteroffer open"
# This maps a tone to the statuses that it colors, including statuses of related records.
TONES = {
    "good": (
        APPROVED, "active", "anchored", RequestedDocument.ACCEPTED, "approve", "champion", "published", "added",
        "delivered",
    ),
    "bad": (REJECTED, "decline", "reject", "removed"),
    "wait": (*IN_REVIEW, "pending", "refer", "challenger", "hold on", "waiting", PROPOSED_CHIP, COUNTEROFFER_CHIP),
    "ask": (PENDING_DOCUMENTS, RequestedDocument.RECEIVED, "changed"),
}  # fmt: skip

_OPEN = {"application": OuterRef("pk"), "closed_at": None}
# A change of the application after the proposal voids the proposal, so the application waits for a review again.
PROPOSAL_WAITS = Exists(Proposal.objects.filter(**_OPEN, proposed_at__gte=OuterRef("updated_at")))
COUNTEROFFER_WAITS = Exists(Counteroffer.objects.filter(**_OPEN))
_OFFERED_UNTIL = Subquery(Counteroffer.objects.filter(**_OPEN).values("expires_at")[:1])
# Applications with an open counteroffer wait for the applicant. Proposals have a separate queue.
TO_REVIEW = Q(status__in=IN_REVIEW) & ~Q(COUNTEROFFER_WAITS) & ~Q(PROPOSAL_WAITS)

REVIEW = Queue(
    name="review",
    title="Applications to review",
    permission="credit.review_application",
    rows=lambda _user: Application.objects.filter(TO_REVIEW),
    waiting_since="submitted_at",
    address=f"{_LIST}?queue=review",
    take=f"{_LIST}oldest/",
    calm="No applications are waiting for a review.",
    urgent_days=REVIEW_DAYS - 9,
    rank=10,
)
DOCUMENTS = Queue(
    name="documents",
    title="Waiting for documents",
    permission="credit.review_application",
    rows=lambda _user: Application.objects.filter(status=PENDING_DOCUMENTS),
    waiting_since="updated_at",
    address=f"{_LIST}?queue=documents",
    calm="No documents are due.",
    rank=20,
)
COUNTEROFFERS = Queue(
    name="counteroffers",
    title="Counteroffers waiting for the applicant",
    permission="credit.review_application",
    rows=lambda _user: Counteroffer.objects.filter(closed_at__isnull=True),
    waiting_since="offered_at",
    address=f"{_LIST}?queue=counteroffers",
    calm="No counteroffer is open.",
    rank=25,
)
ANCHORS = Queue(
    name="anchors",
    title="Decisions waiting for the ledger",
    permission="credit.view_decisionanchor",
    rows=lambda _user: DecisionAnchor.objects.filter(anchored_at__isnull=True),
    waiting_since="history__changed_at",
    address="/admin/credit/decisionanchor/?anchored_at__isempty=1",
    calm="Every decision is anchored.",
    rank=80,
)


ASSIGNED_MAX = 5_000
PROVIDERS_SHOWN = 30


def _without_form(_request: HttpRequest) -> Q:
    """Return the condition for unaccepted approvals of EU credit whose information form is not yet provided."""
    offers = Offer.objects.filter(jurisdiction=EU).exclude(regime=NO_REGIME)
    provided = Precontract.objects.filter(
        application=OuterRef("pk"), terms_sha256=OuterRef("loan_terms__terms_sha256"), provided_at__isnull=False
    )
    waiting = Q(status=APPROVED, accepted_at=None, loan_terms__isnull=False, offer_id__in=offers.values("pk"))
    return waiting & ~Q(Exists(provided))


class QueueFilter(ConditionFilter):
    """Filter waiting applications by the party that must act.

    In each queue, the application that has waited longest is first.
    """

    title, parameter_name = "queue", "queue"
    conditions = {
        "review": ("To review", TO_REVIEW),
        "documents": ("Waiting for documents", Q(status=PENDING_DOCUMENTS)),
        "counteroffers": (
            "Counteroffer open",
            Q(status=UNDER_REVIEW, counteroffers__closed_at=None, counteroffer_moves__gt=0),
        ),
        "forms": ("Information form not provided", _without_form),
        "decided": ("Decided", Q(status__in=DECIDED)),
    }


def _older_than(days: int) -> Callable[[HttpRequest], Q]:
    def condition(_request: HttpRequest) -> Q:
        submitted = Q(status__in=UNDECIDED, submitted_at__lte=timezone.now() - timedelta(days=days))
        return submitted & ~Q(COUNTEROFFER_WAITS)

    return condition


class Waiting(NamedTuple):
    """The open proposal or counteroffer of an application. `until` is the deadline of the counteroffer, or None."""

    is_proposed: bool = False
    until: datetime | None = None

    @property
    def chips(self) -> list[str]:
        return [*([PROPOSED_CHIP] if self.is_proposed else []), *([COUNTEROFFER_CHIP] if self.until else [])]


def waiting_of(rows: Iterable[Application], viewer: Any) -> dict[Any, Waiting]:
    """Return the open proposals and counteroffers by application, with one statement.

    Viewers without permission to view proposals get only the counteroffers.
    """
    keys = [row.pk for row in rows if row.status in IN_REVIEW]
    if not keys:
        return {}
    waiting = Application.objects.filter(pk__in=keys).annotate(proposed=PROPOSAL_WAITS, until=_OFFERED_UNTIL)
    sees_proposals = may(viewer, "credit.view_proposal")
    return {
        pk: Waiting(proposed and sees_proposals, until)
        for pk, proposed, until in waiting.order_by().values_list("pk", "proposed", "until")
    }


class AgeFilter(ConditionFilter):
    title, parameter_name = "waiting time", "age"
    conditions = {str(days): (f"Over {days} days", _older_than(days)) for days in (7, 21, REVIEW_DAYS)}


def _assigned(request: HttpRequest, **whose: Any) -> Q:
    work = Assignment.in_force(REVIEW_PERMISSION, kind=Application._meta.label_lower, **whose)
    assignments = narrowed(work, request.user)
    return Q(pk__in=list(assignments.values_list("record_id", flat=True)[:ASSIGNED_MAX]))


class AssigneeFilter(ConditionFilter):
    title, parameter_name = "assignee", "work"
    conditions = {
        "mine": ("Mine", lambda request: _assigned(request, assignee=request.user)),
        "nobody": ("Unassigned", lambda request: ~_assigned(request)),
    }


def in_currencies(*codes: str) -> Q:
    """Return the condition for applications to offers in these currencies. Unlisted offers count as USD."""
    abroad = Offer.objects.filter(jurisdiction=EU)
    selected = Q(offer_id__in=abroad.filter(currency__in=codes).values("pk"))
    if "USD" in codes:
        selected |= ~Q(offer_id__in=abroad.values("pk"))
    return selected


def _units(least: int | None, most: int | None) -> Q:
    """Return the condition for amounts from `least` to below `most`, in units of the offer's currency."""

    def limits(places: int) -> Q:
        at_least = Q() if least is None else Q(amount_cents__gte=least * 10**places)
        return at_least if most is None else at_least & Q(amount_cents__lt=most * 10**places)

    return _by_places(limits)


def of_amount(units: int) -> Q:
    """Return the condition for amounts of `units` in the offer's currency."""
    return _by_places(lambda places: Q(amount_cents=units * 10**places))


def _by_places(condition: Callable[[int], Q]) -> Q:
    """Combine the conditions of all currencies. `condition` receives the number of decimals of a currency."""
    other_places = with_other_places()
    selected = ~in_currencies(*chain.from_iterable(other_places.values())) & condition(2)
    for places, codes in other_places.items():
        selected |= in_currencies(*codes) & condition(places)
    return selected


class AmountFilter(ConditionFilter):
    """Filter applications by amount, in units of the application's currency."""

    title, parameter_name = "amount", "amount"
    conditions = {
        "small": ("Under 1,000", _units(None, 1_000)),
        "middle": ("1,000 to 10,000", _units(1_000, 10_000)),
        "large": ("10,000 and more", _units(10_000, None)),
    }


def _submitted_within(days: int) -> Callable[[HttpRequest], Q]:
    return lambda _request: Q(submitted_at__gte=timezone.now() - timedelta(days=days))


class SubmittedFilter(ConditionFilter):
    title, parameter_name = "submitted", "submitted"
    conditions = {
        str(days): ("Last day" if days == 1 else f"Last {days} days", _submitted_within(days)) for days in (1, 7, 30)
    }


class ProviderFilter(admin.SimpleListFilter):
    title, parameter_name = "lender", "provider"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        lenders = narrowed(Provider.objects.order_by("created_at", "id"), request.user)
        named = lenders.values_list("id", "name")[:PROVIDERS_SHOWN]
        return [(number, name or number) for number, name in named if parse_positive_int64(number)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        number = parse_positive_int64(self.value() or "")
        return queryset if number is None else queryset.filter(provider_id=number)
