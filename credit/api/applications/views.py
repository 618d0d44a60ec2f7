from functools import cache, partial
from typing import Any

from django.conf import settings
from django.utils import timezone
from rest_framework.response import Response

from config.api.pagination import Shown, fitting, truncated_header
from config.api.views import ApiRequest, ApiViewSet, endpoint, require_self
from config.core.credentials import FIRST_PARTY, InsufficientScope
from config.core.errors import NotFound, UserMismatch
from config.core.ids import parse_uuid
from config.core.lifecycle import RecordNotEditable, ReviewerRequired, SecondFactorRequired, actor_of
from config.core.sizes import number_that_fits, weight_of
from credit.anchoring import services as anchoring
from credit.api.anchoring.serializers import AnchorSerializer, DecisionProofSerializer, DecisionSerializer
from credit.api.applications import serializers
from credit.applications import services as applications
from credit.core import errors
from credit.core.facts import SHAREABLE
from credit.core.machine import MACHINE
from credit.documents.services import documents_of
from credit.models import Application
from credit.requirements import services as requirements
from credit.review import services as review
from credit.terms import acceptance
from credit.terms.acceptance import Acceptable

_COLUMNS = serializers.ApplicationSerializer.sources()
_read_own = applications.select_own(_COLUMNS).first


@cache
def _listing(filters: tuple[str, ...]) -> Any:
    return applications.select_page(_COLUMNS, filters)


@cache
def _sizes(filters: tuple[str, ...]) -> Any:
    return applications.select_page(("size",), filters, size=weight_of(Application, _COLUMNS))


def _list_applications(*, consumer_id: int, limit: int, offset: int, **filters: Any) -> Shown:
    """Return a page of applications, newest first.

    Omit the applications that would exceed the maximum size of a response.
    """
    names, is_cut = tuple(sorted(filters)), False
    if limit > serializers.ApplicationSerializer.unweighed:
        sizes = _sizes(names).rows(consumer_id=consumer_id, limit=limit, offset=offset, **filters)
        fits = number_that_fits(size for (size,) in sizes)
        limit, is_cut = min(limit, fits), fits < len(sizes)
    rows = _listing(names).rows(consumer_id=consumer_id, limit=limit, offset=offset, **filters)
    shown = fitting(map(serializers.ApplicationSerializer.represent_values, rows))
    return Shown(shown.rows, is_cut or shown.is_cut)


_reads = partial(endpoint, access="applications:read")
HISTORY_MAX = 1_000  # the maximum number of transitions in a response

_WRITES = "applications:write"
_writes_application = partial(endpoint, access=_WRITES, idempotent=True)


def _require_share(request: ApiRequest, body: dict[str, Any]) -> None:
    """Raise InsufficientScope if an app shares data that its own scopes don't cover."""
    for area in body.get("share", ()):
        if not request.auth.carries(SHAREABLE[area]):
            raise InsufficientScope.lacking(SHAREABLE[area])


def _load(request: ApiRequest, application_id: str) -> Application:
    return applications.load_for(application_id, actor_of(request))


class ApplicationViewSet(ApiViewSet):
    """Credit applications: drafts, decisions, acceptance, documents, history, and inclusion proofs.

    Under `REVIEW_POLICY=open`, every account that can read an application can decide it and change its status. A member
    with the role `reader` can only read applications.
    """

    tag = "applications"

    @_reads(
        query=serializers.ApplicationQuery, answer=serializers.ApplicationSerializer(many=True), errors=(UserMismatch,)
    )
    def list(self, request: ApiRequest, query: dict[str, Any]) -> Response:
        """List your applications.

        The newest application is first.
        """
        if "consumer_id" in query:
            require_self(request, query.pop("consumer_id"), member="consumer_id")
        shown = _list_applications(consumer_id=request.user.pk, **query, **self.filter_values)
        return Response(shown.rows, headers=truncated_header(is_cut=shown.is_cut))

    @_writes_application(
        body=serializers.ApplicationRequestSerializer,
        answer=serializers.ApplicationSerializer,
        status=201,
        errors=(UserMismatch, errors.OfferUnavailable, errors.RequirementsDue),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Application:
        """Apply to an offer.

        If the operator does not require listed offers, the API also accepts the id of an unlisted offer. `share`
        determines which bank and identity data the lender and the score can use.
        """
        require_self(request, body.pop("consumer_id"), member="consumer_id")
        _require_share(request, body)
        return applications.create_application(
            consumer_id=request.user.pk, limited=request.auth.scopes is not None, now=timezone.now(), **body
        )

    @_reads(answer=serializers.ReviewedApplicationSerializer, errors=errors.READ_ERRORS)
    def retrieve(self, request: ApiRequest, application_id: str) -> Application | Response:
        """Get an application.

        For reviewers and members of the lender, the response also contains the proposed decision that a second reviewer
        must confirm.
        """
        identifier = parse_uuid(application_id)
        own = _read_own(application_id=identifier, consumer_id=request.user.pk) if identifier else None
        if own is not None:
            return Response(serializers.ApplicationSerializer.represent_values(own))
        application: Any = _load(request, application_id)
        application.pending_decision = review.pending_decision(application)
        return application  # type: ignore[no-any-return]

    @_writes_application(
        body=serializers.ApplicationChangeRequestSerializer,
        answer=serializers.ApplicationSerializer,
        errors=(errors.ApplicationNotFound, RecordNotEditable),
    )
    def update(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Application:
        """Update an application.

        The request replaces the data, the applicants, or the notes. For a draft, the request can also replace `share`.
        Only the applicant can update an application. After a decision, a withdrawal, or an expiry, the request can only
        replace the notes.
        """
        _require_share(request, body)
        return applications.change_application(
            application_id, actor=actor_of(request), updated_by=body.pop("updated_by"), changes=body, now=timezone.now()
        )

    @_reads(answer=serializers.HistoryPageSerializer, errors=errors.READ_ERRORS)
    def history(self, request: ApiRequest, application_id: str) -> Response:
        """List the status transitions of an application.

        The list contains the first 1,000 transitions, oldest first. The creation of the application is not a
        transition. If the API omits transitions, the response has the header `X-Truncated`.
        """
        application = _load(request, application_id)
        moves = list(application.history.defer("metadata")[: HISTORY_MAX + 1])
        entries, is_cut = fitting(map(serializers.HistoryEntrySerializer.represent, moves[:HISTORY_MAX]))
        is_cut = is_cut or len(moves) > HISTORY_MAX
        answer = {"application_id": str(application.pk), "history": entries}
        return Response(answer, headers=truncated_header(is_cut=is_cut))

    @_writes_application(
        body=serializers.ApplicationStatusRequestSerializer,
        answer=serializers.ReviewedApplicationSerializer,
        errors=(
            *errors.DECIDING_ERRORS, errors.ReasonsRequired, errors.ReportPending, errors.RequirementsDue,
            errors.TermsOutsideOffer, errors.AprAboveCap, errors.TermsRequired,
        ),
    )  # fmt: skip
    def move(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Application:
        """Change the status of an application.

        Under the policies `reviewed` and `four_eyes`, a rejection requires one to four principal reasons in
        `metadata.reasons`, the most important first. A reason is a code, or `{"code": "other", "text": "…"}`. A
        decision that differs from the score's proposal requires a `reason` or, for a rejection, principal reasons. The
        reopening of an accepted application also requires a `reason`.

        Under `four_eyes`, two reviewers approve or reject. The first request leaves the status unchanged, and the
        response contains `pending_decision`. When a second reviewer sends the same request, the decision takes effect.
        The data and the score must not have changed since the first request.

        An approval has the loan in `metadata.terms`: {amount_cents, rate_percent, term_months, fee_cents,
        first_payment_on}. If the amount or the term is missing, the API uses the value of `application_data`. If the
        rate is missing, the API uses the lowest or only rate of the offer at the submission. All values must be within
        the limits of that offer. An offer without `term_options_months` is a line of credit. The approved amount is
        then the credit limit. Under the policy `open`, and for an unlisted offer, an approval without `terms` has no
        loan.

        If the score's outcome is `refer` and a reviewer's rejection has none of the score's reasons, the response
        contains `warnings`. The decision is still valid. To add reasons, reopen the application and decide again.
        """
        to, actor, now = body["status"], actor_of(request), timezone.now()
        change = {"changed_by": body["updated_by"], "reason": body["reason"], "metadata": body["metadata"]}
        changed, pending = review.change_status(application_id, to, actor=actor, now=now, **change)
        application: Any = changed
        application.pending_decision = pending
        if application.consumer_id != request.user.pk and (warning := review.warning_about(application, pending)):
            application.warnings = [warning]
        return changed

    @endpoint(
        access=FIRST_PARTY,
        idempotent=True,
        errors=(errors.ApplicationNotFound, NotFound, ReviewerRequired, SecondFactorRequired),
    )
    def end_pending_decision(self, request: ApiRequest, application_id: str) -> None:
        """Withdraw or decline a proposed decision.

        If you proposed the decision, the request withdraws it. If another account proposed the decision, the request
        declines the decision. Requires a reviewer.
        """
        review.end_pending_decision(application_id, actor=actor_of(request), now=timezone.now())

    @_reads(answer=serializers.TransitionsPageSerializer, errors=errors.READ_ERRORS)
    def transitions(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """List the transitions from the current status.

        For each transition, the response states whether you can make it now, and the reason if it is blocked.
        """
        application = _load(request, application_id)
        actor, moves = actor_of(request), []
        is_consumer = application.consumer_id == request.user.pk
        pending = None if is_consumer else review.pending_decision(application)
        for to, role in MACHINE.moves_from(application.status).items():
            refusal = application.check_transition(to, actor) or review.check_against(pending, application, to)
            refusal = refusal or requirements.refusal_of(application, to)
            if refusal is None and not request.auth.carries(_WRITES):
                refusal = InsufficientScope.lacking(_WRITES)
            code, why = (refusal.code, str(refusal)) if refusal else (None, None)
            moves.append({"to": to, "by": role, "allowed": refusal is None, "code": code, "why": why})
        documents = [*documents_of(application)]
        return {
            "application_id": application.pk,
            "status": application.status,
            "review_policy": settings.REVIEW_POLICY,
            "transitions": moves,
            "details": {"documents": documents} if documents else None,
            "pending_decision": pending,
        }

    @_reads(answer=serializers.AcceptanceSerializer, errors=errors.READ_ERRORS)
    def acceptance(self, request: ApiRequest, application_id: str) -> Acceptable:
        """Get the terms to accept.

        The response has the terms, the deadline, and the time of the acceptance.

        The `terms` of a loan contain its cost. While the applicant can accept the loan, the API computes its cost for a
        loan that starts today. After the acceptance, `terms` contain the cost of the accepted loan.
        """
        return acceptance.describe(_load(request, application_id), now=timezone.now())

    @_writes_application(
        body=serializers.AcceptanceRequestSerializer,
        answer=serializers.AcceptanceSerializer,
        errors=(errors.ApplicationNotFound, errors.NothingToAccept, errors.PrecontractRequired, errors.TermsChanged),
    )
    def accept(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Acceptable:
        """Accept an approval or a counteroffer.

        Only the applicant can accept. `terms_sha256` identifies the accepted terms. Idempotent. An application with
        accepted terms does not expire and can't be withdrawn. The borrower can withdraw from an agreement under
        Directive (EU) 2023/2225 with `POST …/withdrawal`.

        A loan starts on the day of its acceptance. If the loan has a fixed first payment date, a later start can change
        the figures of the loan. The API then returns 400 `E3012` with the new terms and their hash in `details`. To
        accept them, send the new hash.
        """
        now = timezone.now()
        accepted = acceptance.accept(application_id, **body, actor=actor_of(request), now=now)
        return acceptance.describe(accepted, now=now)

    @_reads(answer=DecisionProofSerializer, errors=(*errors.READ_ERRORS, NotFound))
    def proof(self, request: ApiRequest, application_id: str) -> Response:
        """List decision records with their inclusion proofs.

        The top level of the response contains the newest decision record. `decisions` contains the record of each
        approval, each rejection, and each reopening of a decided application, oldest first.

        `record` is the string whose SHA-256 the ledger anchors. Until the record is anchored, `status` is `pending`. If
        a record has a score, the operation also requires `score:read`. Decisions have records only if the operator has
        set `ANCHOR_DECISIONS`. Without a record, the API returns 404.
        """
        application = _load(request, application_id)
        decided = anchoring.decisions_about(application)
        if not request.auth.carries("score:read") and any(anchor.includes_score for anchor in decided):
            raise InsufficientScope.lacking("score:read")
        decisions, is_cut = fitting(map(DecisionSerializer.represent, decided))
        answer = {
            "application_id": str(application.pk),
            **DecisionSerializer(decided[-1]).data,
            "decisions": decisions,
            "acceptances": AnchorSerializer(application.anchors.exclude(acceptance=None), many=True).data,
        }
        return Response(answer, headers=truncated_header(is_cut=is_cut))
