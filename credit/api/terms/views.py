from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone, translation
from rest_framework.decorators import renderer_classes

from config.api.renderers import OrjsonRenderer, renderer_for
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY, InsufficientScope
from config.core.errors import NotFound
from config.core.lifecycle import RecordNotEditable, ReviewerRequired, SecondFactorRequired, actor_of
from credit.api.printing import HTML, PRINTABLE, printed
from credit.api.terms import serializers
from credit.applications import withdrawal_right
from credit.applications.services import load_for
from credit.applications.withdrawal_right import Withdrawable
from credit.core import errors
from credit.core.applicants import language_of
from credit.core.figures import reference_of
from credit.core.machine import COUNTEROFFER
from credit.models import Counteroffer, Precontract
from credit.offers.services import load_offer
from credit.review.services import change_status
from credit.terms import counteroffers, withdrawals
from credit.terms.acceptance import form_to_read, provide
from credit.terms.agreement import Agreement, agreement_of, in_words, parties_of
from credit.terms.precontract import Form, form_of_offer

SHOWN_MAX = 100

_reads = partial(endpoint, access="applications:read")
_writes_application = partial(endpoint, access="applications:write", idempotent=True)
_decides = partial(endpoint, access=FIRST_PARTY, idempotent=True)  # no scope covers a decision


def agreement_page(request: HttpRequest | None, agreement: Agreement, *, is_own: bool = False) -> HttpResponse:
    """Render the agreement as a page to read and print. If the page is for a file, `request` is None.

    With `is_own`, the page links to the page of the application.

    The page is in the first borrower's language, like the agreement's items. The times are in UTC, because the hashed
    terms contain the date of the agreement in UTC.
    """
    has_items = agreement.members is not None
    language = language_of(agreement.borrower.applicants) if has_items else translation.get_language()
    with translation.override(language), timezone.override(UTC):
        parties = parties_of(agreement.lender, agreement.borrower)
        is_borrower = agreement.acceptance.principal_id == agreement.borrower.consumer_id
        page = {
            **in_words(agreement, agreement.borrower.offer_snapshot, members=agreement.members),
            **parties,
            "agreement": agreement,
            # The first borrower has the account. The name is the first line of the borrower's text.
            "accepted_by": parties["borrowers"][0].partition("\n")[0] if is_borrower and parties["borrowers"] else "",
            "reference": reference_of(agreement.borrower.pk),
            "is_own": is_own,
            "agreement_sha256": serializers.AgreementSerializer(agreement).data["agreement_sha256"],
            "provider_name": settings.PROVIDER_NAME,
        }
        return render(request, "credit/agreement.html", page)


class CounterofferViewSet(ApiViewSet):
    """Counteroffers of an application."""

    tag = "applications"

    @_reads(answer=serializers.CounterofferSerializer(many=True), errors=errors.READ_ERRORS)
    def list(self, request: ApiRequest, application_id: str) -> Any:
        """List the counteroffers of an application.

        The newest counteroffer is first. The list has at most 100 counteroffers.
        """
        rows = load_for(application_id, actor_of(request)).counteroffers.select_related("loan_terms")
        return rows.order_by("-id")[:SHOWN_MAX]

    @_decides(
        body=serializers.CounterofferRequestSerializer,
        answer=serializers.CounterofferSerializer,
        status=201,
        errors=(
            *errors.DECIDING_ERRORS, errors.AprAboveCap, errors.CounterofferOpen, errors.ReasonsRequired,
            errors.ReportPending, errors.TermsOutsideOffer, errors.TermsRequired,
        ),
    )  # fmt: skip
    def create(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Counteroffer | dict[str, Any]:
        """Create a counteroffer.

        Requires a reviewer who can decide the application. The application must be `under_review`, and stays in that
        status.

        `GET …/acceptance` returns the counteroffer to the applicant. The acceptance of the counteroffer approves the
        application. If the counteroffer is still open at its deadline, the application is rejected with the `reasons`
        of the counteroffer. While a request for reconsideration is open, the application is not rejected. Under
        four-eyes approval, the first request proposes the counteroffer. The same request by a second reviewer creates
        the counteroffer.
        """
        actor = actor_of(request)
        change: dict[str, Any] = {"changed_by": actor.name, "reason": None, "metadata": body}
        application, pending = change_status(application_id, COUNTEROFFER, actor=actor, now=timezone.now(), **change)
        if pending is not None:
            bound: Any = pending.metadata
            return {
                "id": None,
                "status": serializers.PROPOSED,
                "terms": bound["terms"],
                "terms_sha256": None,
                "reasons": bound["reasons"],
                "expires_at": datetime.fromisoformat(bound["expires_at"]),
                "offered_by": str(pending.proposer_id),
                "offered_at": pending.proposed_at,
                "closed_at": None,
            }
        return application.counteroffers.select_related("loan_terms").latest("id")

    @_decides(errors=(*errors.DECIDING_ERRORS, NotFound, RecordNotEditable))
    def withdraw(self, request: ApiRequest, application_id: str, counteroffer_id: str) -> None:
        """Withdraw an open counteroffer.

        Requires a reviewer who can decide the application. The application stays under review.
        """
        counteroffers.withdraw(application_id, counteroffer_id, actor=actor_of(request), now=timezone.now())

    @_writes_application(
        answer=serializers.CounterofferSerializer, errors=(errors.ApplicationNotFound, NotFound, RecordNotEditable)
    )
    def decline(self, request: ApiRequest, application_id: str, counteroffer_id: str) -> Counteroffer:
        """Decline an open counteroffer.

        Only the applicant can decline a counteroffer. The application stays under review.
        """
        return counteroffers.decline(application_id, counteroffer_id, actor=actor_of(request), now=timezone.now())


class AgreementViewSet(ApiViewSet):
    """The agreement of an accepted application."""

    tag = "applications"

    @renderer_classes([OrjsonRenderer, renderer_for(HTML)])
    @_reads(answer=serializers.AgreementSerializer, errors=(*errors.READ_ERRORS, NotFound))
    def retrieve(self, request: ApiRequest, application_id: str) -> HttpResponse | Agreement:
        """Get the agreement.

        The agreement exists once a loan or a line of credit is accepted. Before the acceptance, and for an approval
        without terms, the API returns 404. With `Accept: text/html`, the API returns a page to print.

        The agreement has the lender, the borrower, and the terms. The agreement also has the decision and the
        acceptance. If the operator has set `ANCHOR_DECISIONS`, both have a record and an inclusion proof. For a loan,
        the agreement also has the schedule and the figures of 12 CFR 1026.18. If the record of the decision has a
        score, the operation also requires `score:read`.
        """
        agreement = agreement_of(load_for(application_id, actor_of(request)))
        if agreement.includes_score and not request.auth.carries("score:read"):
            raise InsufficientScope.lacking("score:read")
        return agreement_page(request, agreement) if request.accepted_renderer.media_type == HTML else agreement


class WithdrawalViewSet(ApiViewSet):
    """The right to withdraw from an accepted agreement."""

    tag = "applications"

    @_reads(answer=serializers.WithdrawalSerializer, errors=(*errors.READ_ERRORS, NotFound))
    def retrieve(self, request: ApiRequest, application_id: str) -> Withdrawable:
        """Get the right of withdrawal from an agreement.

        The right exists once terms of an offer under Directive (EU) 2023/2225 are accepted (Article 26). The response
        has the end of the period, and the amounts that a withdrawal makes due. After a withdrawal, it also has the last
        day for the repayment.
        """
        return withdrawal_right.describe(load_for(application_id, actor_of(request)))

    @_writes_application(
        body=serializers.WithdrawalRequestSerializer,
        answer=serializers.WithdrawalSerializer,
        errors=(errors.ApplicationNotFound, NotFound, ReviewerRequired, SecondFactorRequired, errors.WithdrawalOver),
    )
    def create(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Withdrawable:
        """Withdraw from an agreement.

        A borrower's withdrawal ends the agreement for all borrowers. Each borrower with an email address gets a receipt
        by mail. A reviewer, with the account's own log-in or an unrestricted API key, records a declaration that the
        lender received. `declared_at` is the time at which the borrower sent the declaration.

        Idempotent. If the declaration was sent after the period, the API returns 400 `E3019`, with the last day in
        `details`.
        """
        declared = withdrawals.declare(application_id, **body, actor=actor_of(request), now=timezone.now())
        return withdrawal_right.describe(declared)


class PrecontractViewSet(ApiViewSet):
    """The European information form, which applicants get before they accept a loan."""

    tag = "applications"

    @renderer_classes(PRINTABLE)
    @endpoint(
        access="offers:read",
        query=serializers.OfferFormQuery,
        answer=serializers.OfferFormSerializer,
        errors=(errors.OfferNotFound, NotFound),
    )
    def of_offer(self, request: ApiRequest, offer_id: str, query: dict[str, Any]) -> HttpResponse | Form:
        """Get the European information form of an offer.

        The API returns the form of Directive (EU) 2023/2225, Annex I, as JSON, a page, or a PDF. PDF requires that the
        operator has installed weasyprint. The form describes a credit with the amount and the duration of the query. If
        the directive does not apply to the offer, the API returns 404.
        """
        offer = load_offer(offer_id)
        form = form_of_offer(offer, today=timezone.now().date(), **query)
        return printed(request, form.html) or form

    @renderer_classes(PRINTABLE)
    @_reads(
        query=serializers.FormQuery, answer=serializers.PrecontractSerializer, errors=(*errors.READ_ERRORS, NotFound)
    )
    def of_application(
        self, request: ApiRequest, application_id: str, query: dict[str, Any]
    ) -> HttpResponse | Precontract:
        """Get the European information form of an application.

        The form is about the terms of the open counteroffer or of the approval. The API also returns the form of an
        approval that was withdrawn or expired. The API creates one form for each combination of terms and language.
        When the applicant first gets a form, the API stores `provided_at`. When the applicant first gets a form whose
        terms can be accepted, the API also mails a link to the other borrowers. Send the `sha256` of the form as the
        `precontract_sha256` of the acceptance.
        """
        actor, now = actor_of(request), timezone.now()
        application = load_for(application_id, actor)
        form = form_to_read(application, language=query["language"], now=now)
        shown = printed(request, form.html)
        if application.consumer_id == actor.user.pk:
            provide(application, form, medium=Precontract.API, is_opened=shown is not None, now=now)
        return shown or form
