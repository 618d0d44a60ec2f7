"""Endpoints of this app: each translates, none decides."""

from functools import partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from config.api.credentials import FIRST_PARTY
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint, page_of, require_self
from config.backoffice.models import Proposal
from config.core.errors import NotFound, UserMismatch, ValidationFailed
from config.core.lifecycle import ReviewerRequired, SecondFactorRequired, actor_of
from credit import acceptance, anchoring, applications, catalogue, decisions, matching, offers, providers, quotes
from credit.documents import documents_of
from credit.errors import (
    ApplicationNotFound,
    InvalidApplicationTransition,
    NothingToAccept,
    OfferNotFound,
    OfferUnavailable,
    ProviderNotFound,
    ProviderTaken,
    ReasonsRequired,
    RecordNotEditable,
    TermsChanged,
)
from credit.machine import MACHINE
from credit.models import Application, Offer
from credit.offer_serializers import (
    CatalogueAnswer,
    CatalogueQuery,
    MatchAnswer,
    MatchBody,
    MatchQuery,
    OfferAnswer,
    OfferBody,
    OfferQuery,
    QuoteAnswer,
    QuoteQuery,
)
from credit.serializers import (
    AcceptanceAnswer,
    AcceptanceBody,
    AnchorAnswer,
    ApplicationAnswer,
    ApplicationBody,
    ApplicationChangeBody,
    ApplicationFilter,
    ApplicationQuery,
    ApplicationStatusBody,
    DecisionAnswer,
    DecisionProofAnswer,
    HistoryAnswer,
    InboxAnswer,
    InboxApplicationAnswer,
    InboxFilter,
    MemberAnswer,
    MemberBody,
    MembersAnswer,
    PendingDecisionAnswer,
    ProviderAnswer,
    ProvidersAnswer,
    RequestedDocumentAnswer,
    ReviewedApplicationAnswer,
    TransitionsAnswer,
)

# What methods that change something declare alike.
_writes_offers = partial(endpoint, access="offers:write", idempotent=True)
_writes_application = partial(endpoint, access="applications:write", idempotent=True)


def _with_pending(answer: dict[str, Any], application: Application, pending: Proposal | None) -> dict[str, Any]:
    if pending is None:
        return answer
    values = (pending.to, pending.proposed_as or pending.proposed_by_id, pending.proposed_at, application.data_sha256)
    return {**answer, "pending_decision": PendingDecisionAnswer.represent_values(values)}


def _load_offer(offer_id: str) -> Offer:
    offer = Offer.objects.filter(pk=offers.read_offer_id(offer_id)).first()
    if offer is None:
        raise OfferNotFound
    return offer


class OfferViewSet(ApiViewSet):
    """What lenders offer: terms that count their versions, and what a loan of them costs."""

    tag = "provider-offers"

    @endpoint(access="offers:read", query=OfferQuery, answer=OfferAnswer, many=True)
    def list(self, request: ApiRequest, query: dict[str, Any]) -> Any:
        """List a provider's active offers, newest first."""
        found = Offer.objects.filter(provider_id=query["provider_id"]).order_by("-id")
        if not query["include_inactive"]:
            return found.filter(is_active=True)
        return [offer for offer in found if offer.is_active or offer.owner_id == request.user.pk]

    @_writes_offers(body=OfferBody, answer=OfferAnswer, status=201, errors=(ProviderTaken,))
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Offer:
        """Make an offer.

        The provider id belongs to the account that uses it first.
        """
        return offers.create_offer(owner=request.user, terms=body, now=timezone.now())

    @endpoint(access="offers:read", answer=OfferAnswer, errors=(OfferNotFound,))
    def retrieve(self, request: ApiRequest, offer_id: str) -> Offer:  # noqa: ARG002
        """Return an offer, active or not."""
        return _load_offer(offer_id)

    @endpoint(access="offers:read", query=QuoteQuery, answer=QuoteAnswer, errors=(OfferNotFound, OfferUnavailable))
    def quote(self, request: ApiRequest, offer_id: str, query: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Compute what a loan of this offer costs: its payments, month by month, and its annual percentage rate.

        The loan is paid out today (UTC), less the fee, and repaid in level monthly payments of which the last takes
        the rest. What the offer does not lend is refused.
        """
        return quotes.make_quote(_load_offer(offer_id), today=timezone.now().date(), **query)

    @_writes_offers(body=OfferBody, answer=OfferAnswer, errors=(OfferNotFound, ProviderTaken))
    def replace(self, request: ApiRequest, offer_id: str, body: dict[str, Any]) -> Offer:
        """Replace an offer's terms, which makes its next version."""
        number = offers.read_offer_id(offer_id)
        return offers.replace_offer(number, owner=request.user, terms=body, now=timezone.now())

    @_writes_offers(errors=(OfferNotFound,))
    def deactivate(self, request: ApiRequest, offer_id: str) -> None:
        """Deactivate an offer; it stays readable by id."""
        offers.deactivate_offer(offers.read_offer_id(offer_id), owner=request.user, now=timezone.now())


class MatchViewSet(ApiViewSet):
    tag = "provider-offers"

    @endpoint(access="offers:read", body=MatchBody, query=MatchQuery, answer=MatchAnswer)
    def create(self, request: ApiRequest, body: dict[str, Any], query: dict[str, Any]) -> dict[str, Any]:
        """Say which offers fit the caller, and why the others do not. No application is made, nothing is decided.

        The champions of the offers' scoring models compute what they would make of the caller's facts. The score is
        kept: the catalogue leaves out what it declines.
        """
        page = matching.match_offers(user_id=request.user.pk, **body, **query, now=timezone.now())
        shown = [
            {**OfferAnswer.represent(match.offer), "matched": not match.why_not, "why_not": match.why_not}
            for match in page["offers"]
        ]
        return {**page, "offers": shown}


class ProviderViewSet(ApiViewSet):
    """What the people behind a provider see and do."""

    tag = "providers"

    @endpoint(access="offers:read", query=PageQuery, answer=ProvidersAnswer)
    def page(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List the providers that the caller acts for."""
        return page_of(providers.list_providers(request.user), query, "providers", ProviderAnswer)

    @endpoint(access="offers:read", query=PageQuery, answer=MembersAnswer, errors=(ProviderNotFound,))
    def members(self, request: ApiRequest, provider_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """List who acts for a provider."""
        provider = providers.load_provider(provider_id, request.user)
        return page_of(providers.members_of(provider), query, "members", MemberAnswer)

    @_writes_offers(body=MemberBody, answer=MemberAnswer, status=201, errors=(ProviderNotFound, ProviderTaken))
    def add_member(self, request: ApiRequest, provider_id: str, body: dict[str, Any]) -> Any:
        """Let an account act for a provider: make its offers, read and review what is sent to it. The owner's to do."""
        return providers.add_member(provider_id, body["username"], by=request.user)

    @_writes_offers(errors=(ProviderNotFound, ProviderTaken, NotFound, ValidationFailed))
    def remove_member(self, request: ApiRequest, provider_id: str, user_id: str) -> None:
        """Let an account no longer act for a provider. The owner's to do."""
        providers.remove_member(provider_id, user_id, by=request.user)

    @endpoint(
        access="applications:read", query=PageQuery, filters=InboxFilter, answer=InboxAnswer, errors=(ProviderNotFound,)
    )
    def inbox(self, request: ApiRequest, provider_id: str, query: dict[str, Any]) -> dict[str, Any]:
        """List what was submitted to a provider that the caller acts for, oldest first. Drafts are not in it."""
        found = self.filter_queryset(providers.inbox(providers.load_provider(provider_id, request.user)))
        return page_of(found, query, "applications", InboxApplicationAnswer)


def _load(request: ApiRequest, application_id: str) -> Application:
    """Return the application that a path names; raises ApplicationNotFound unless the caller may see it so."""
    return applications.load_for(application_id, actor_of(request))


class ApplicationViewSet(ApiViewSet):
    """Applications for credit: from the draft to the decision, what is taken up, their documents, history and proof."""

    tag = "applications"

    @endpoint(
        access="applications:read",
        query=ApplicationQuery,
        filters=ApplicationFilter,
        answer=ApplicationAnswer,
        many=True,
        errors=(UserMismatch,),
    )
    def list(self, request: ApiRequest, query: dict[str, Any]) -> Any:
        """List the caller's own applications, newest first."""
        if "consumer_id" in query:
            require_self(request, query.pop("consumer_id"), member="consumer_id")
        return applications.list_applications(consumer_id=request.user.pk, **query, **self.filter_values)

    @_writes_application(
        body=ApplicationBody, answer=ApplicationAnswer, status=201, errors=(UserMismatch, OfferUnavailable)
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Application:
        """Apply to an offer.

        An offer id that is not listed here is taken for another marketplace's and accepted, unless the operator
        requires listed offers.
        """
        require_self(request, body.pop("consumer_id"), member="consumer_id")
        return applications.create_application(
            consumer_id=request.user.pk, limited=request.auth.scopes is not None, now=timezone.now(), **body
        )

    @endpoint(access="applications:read", answer=ReviewedApplicationAnswer, errors=(ApplicationNotFound,))
    def retrieve(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Return an application; to its reviewers with the decision that waits for a second one."""
        shown = applications.show_application(application_id, request.user)
        if shown is not None:
            return shown
        application = _load(request, application_id)
        pending = decisions.pending_decision(application)
        return _with_pending(ApplicationAnswer.represent(application), application, pending)

    @_writes_application(
        body=ApplicationChangeBody, answer=ApplicationAnswer, errors=(ApplicationNotFound, RecordNotEditable)
    )
    def change(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> Application:
        """Replace the application's data, its notes, or both."""
        return applications.change_application(
            application_id, actor=actor_of(request), updated_by=body.pop("updated_by"), changes=body, now=timezone.now()
        )

    @endpoint(access="applications:read", answer=HistoryAnswer, errors=(ApplicationNotFound,))
    def history(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Return every status that the application entered, in order."""
        application = _load(request, application_id)
        return HistoryAnswer.represent_values((application.pk, application.history.all()))

    @_writes_application(
        body=ApplicationStatusBody,
        answer=ReviewedApplicationAnswer,
        errors=(
            ApplicationNotFound,
            InvalidApplicationTransition,
            ReasonsRequired,
            ReviewerRequired,
            SecondFactorRequired,
        ),
    )
    def move(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Move the application to another status.

        Where reviewers decide, a rejection names its principal reasons as `metadata.reasons`: one to four codes, the
        most important first, or `{"code": "other", "text": "…"}`. Where two reviewers decide together, the first one's
        request leaves the status as it is and answers with `pending_decision`; the same request of a second one, on
        unchanged data, decides.
        """
        application, pending = decisions.change_status(
            application_id,
            body["status"],
            actor=actor_of(request),
            changed_by=body["updated_by"],
            reason=body["reason"],
            metadata=body["metadata"],
            now=timezone.now(),
        )
        return _with_pending(ApplicationAnswer.represent(application), application, pending)

    @endpoint(
        access=FIRST_PARTY,
        idempotent=True,
        errors=(ApplicationNotFound, NotFound, ReviewerRequired, SecondFactorRequired),
    )
    def end_pending_decision(self, request: ApiRequest, application_id: str) -> None:
        """Take back the decision that one has proposed, or decline another reviewer's."""
        decisions.end_pending_decision(application_id, actor=actor_of(request), now=timezone.now())

    @endpoint(access="applications:read", answer=TransitionsAnswer, errors=(ApplicationNotFound,))
    def transitions(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Return the moves out of the current status: which the caller may make now, and why not the others."""
        application = _load(request, application_id)
        actor, moves = actor_of(request), []
        is_consumer = application.consumer_id == request.user.pk
        pending = None if is_consumer else decisions.pending_decision(application)
        for to, role in MACHINE.moves_from(application.status).items():
            refusal = application.check_transition(to, actor) or decisions.check_against(pending, application, to)
            code, why = (refusal.code, str(refusal)) if refusal else (None, None)
            moves.append({"to": to, "by": role, "allowed": refusal is None, "code": code, "why": why})
        answer: dict[str, Any] = {
            "application_id": str(application.pk),
            "status": application.status,
            "review_policy": settings.REVIEW_POLICY,
            "transitions": moves,
        }
        if documents := [RequestedDocumentAnswer.represent(row) for row in documents_of(application)]:
            answer["details"] = {"documents": documents}
        return _with_pending(answer, application, pending)

    @endpoint(access="applications:read", answer=AcceptanceAnswer, errors=(ApplicationNotFound,))
    def acceptance(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Return what an approval offers, until when it can be taken up, and whether it was."""
        return acceptance.describe(_load(request, application_id))

    @_writes_application(
        body=AcceptanceBody, answer=AcceptanceAnswer, errors=(ApplicationNotFound, NothingToAccept, TermsChanged)
    )
    def accept(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Take an approval up. The consumer's to do; `terms_sha256` says to which terms.

        Again is no error. What was taken up neither expires nor can be withdrawn.
        """
        accepted = acceptance.accept(
            application_id, terms_sha256=body["terms_sha256"], actor=actor_of(request), now=timezone.now()
        )
        return acceptance.describe(accepted)

    @endpoint(access="applications:read", answer=DecisionProofAnswer, errors=(ApplicationNotFound, NotFound))
    def proof(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Return the newest decision's record with the ledger's proof of it, and every earlier one.

        `record` is the anchored text itself: its SHA-256 is what the proof proves. A decision that is not in the
        ledger yet is `pending`.
        """
        application = _load(request, application_id)
        shown = [DecisionAnswer.represent(anchor) for anchor in anchoring.decisions_about(application)]
        accepted = [AnchorAnswer.represent(anchor) for anchor in application.anchors.exclude(acceptance=None)]
        return {"application_id": str(application.pk), **shown[-1], "decisions": shown, "acceptances": accepted}


class CatalogueViewSet(ApiViewSet):
    """What a marketplace or an agent reads: the discovery document and the catalogue of offers."""

    tag = "ucp"

    @endpoint(access="offers:read", query=CatalogueQuery, answer=CatalogueAnswer)
    def items(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List active offers as this caller sees them.

        Of an offer under test a person always sees, or always does not see, the same variant.
        """
        limit, offset, explain = query.pop("limit"), query.pop("offset"), query.pop("explain")
        asked = catalogue.CatalogueFilter(user_id=str(request.user.pk), **query)
        page = catalogue.catalogue_page(asked, limit=limit, offset=offset, explain=explain)
        items = [
            {**OfferAnswer.represent(offer), "offer_id": offer.pk, "variant": offer.ab_test_variant}
            for offer in page["items"]
        ]
        return {**page, "items": items}
