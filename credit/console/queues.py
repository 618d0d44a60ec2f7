from config.backoffice.queues import Queue
from credit.core.machine import APPROVED, IN_REVIEW, PENDING_DOCUMENTS, REJECTED
from credit.models import Application, Counteroffer, DecisionAnchor, RequestedDocument

# Regulation B gives a creditor thirty days from a completed application to its answer (12 CFR 1002.9(a)(1)(i)).
REVIEW_DAYS = 30
UNDECIDED = (*IN_REVIEW, PENDING_DOCUMENTS)  # asking for documents does not stop the clock
_LIST = "/admin/credit/application/"
# Colors of statuses, those of related records included.
TONES = {
    "good": (
        APPROVED,
        "active",
        "anchored",
        RequestedDocument.ACCEPTED,
        "approve",
        "champion",
        "published",
        "added",
        "delivered",
    ),
    "bad": (REJECTED, "decline", "removed"),
    "wait": (*IN_REVIEW, "pending", "refer", "challenger"),
    "ask": (PENDING_DOCUMENTS, RequestedDocument.RECEIVED, "changed"),
}

REVIEW = Queue(
    name="review",
    title="Applications to review",
    permission="credit.review_application",
    rows=lambda _user: Application.objects.filter(status__in=IN_REVIEW),
    waiting_since="submitted_at",
    address=f"{_LIST}?queue=review",
    take=f"{_LIST}oldest/",
    calm="Nothing waits for a review.",
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
    calm="Nobody owes documents.",
    rank=20,
)
COUNTEROFFERS = Queue(
    name="counteroffers",
    title="Counteroffers that wait for the person",
    permission="credit.review_application",
    rows=lambda _user: Counteroffer.objects.filter(closed_at__isnull=True),
    waiting_since="offered_at",
    address=f"{_LIST}?queue=counteroffers",
    calm="No counteroffer is open.",
    rank=25,
)
ANCHORS = Queue(
    name="anchors",
    title="Decisions not in the ledger yet",
    permission="credit.view_decisionanchor",
    rows=lambda _user: DecisionAnchor.objects.filter(anchored_at__isnull=True),
    waiting_since="history__changed_at",
    address="/admin/credit/decisionanchor/?anchored_at__isempty=1",
    calm="Every decision is anchored.",
    rank=80,
)
