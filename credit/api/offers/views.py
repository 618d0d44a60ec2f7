from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from django.http import FileResponse
from django.utils import timezone
from rest_framework.decorators import renderer_classes
from rest_framework.response import Response

from config.api import heavy
from config.api.renderers import renderer_for
from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY, InsufficientScope
from config.core.errors import NotAcceptable, NotFound, ValidationFailed
from config.core.lifecycle import SecondFactorRequired, actor_of
from config.core.media_types import quality_of
from credit.api.applications.serializers import DecisionsQuery, InboxQuery, InboxSerializer
from credit.api.offers import loan_serializers, provider_serializers, serializers
from credit.core import quotes
from credit.core.errors import AprAboveCap, OfferNotFound, OfferUnavailable, ProviderNotFound, ProviderTaken
from credit.models import Offer, Provider, ProviderMember
from credit.offers import catalogue, decisions, providers
from credit.offers import services as offers
from credit.offers.links import make_link
from credit.scoring import matching

_reads_offers = partial(endpoint, access="offers:read")
_writes_offers = partial(endpoint, access="offers:write", idempotent=True)
_reads_applications = partial(endpoint, access="applications:read")
_decides_who_acts = partial(endpoint, access=FIRST_PARTY, idempotent=True)


class OfferViewSet(ApiViewSet):
    """Offers of lenders: versioned terms, requirements, and the cost of a loan."""

    tag = "provider-offers"

    @_reads_offers(query=serializers.OfferQuery, answer=serializers.OfferSerializer(many=True))
    def list(self, request: ApiRequest, query: dict[str, Any]) -> QuerySet[Offer]:
        """List a lender's active offers.

        The newest offer is first. The response has all offers, up to 8 MiB. If the API omits offers, the response has
        the header `X-Truncated`. To get the omitted offers, send the number of received offers as `offset`.
        """
        rows = Offer.objects.filter(provider_id=query["provider_id"]).order_by("-id")
        if not query["include_inactive"]:
            return rows.filter(is_active=True)
        return rows.filter(Q(is_active=True) | Q(owner=request.user))

    @_writes_offers(
        body=serializers.OfferRequestSerializer,
        answer=serializers.OfferSerializer,
        status=201,
        errors=(AprAboveCap, ProviderTaken, SecondFactorRequired),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Offer:
        """Create an offer.

        Requires the role `owner` of the lender. An account that sends an unused lender id becomes the owner of this
        lender, unless the operator assigns the ids. A lender has at most 1,000 active offers.
        """
        return offers.create_offer(actor=actor_of(request), terms=body, now=timezone.now())

    @_reads_offers(answer=serializers.OfferSerializer, errors=(OfferNotFound,))
    def retrieve(self, request: ApiRequest, offer_id: str) -> Offer:  # noqa: ARG002
        """Get an offer.

        The API also returns inactive offers.
        """
        return offers.load_offer(offer_id)

    @_reads_offers(
        query=loan_serializers.QuoteQuery,
        answer=loan_serializers.QuoteSerializer,
        errors=(OfferNotFound, OfferUnavailable),
    )
    def quote(self, request: ApiRequest, offer_id: str, query: dict[str, Any]) -> Response:  # noqa: ARG002
        """Quote a loan of an offer.

        The response has the monthly payments and the annual percentage rate.

        The loan starts today (UTC). The borrower repays it in level monthly payments. The last payment has the
        remainder. The lender deducts the fee from the payout, or the borrower pays it separately (`fee_financed`). For
        values outside the offer's limits, the API returns 400 `E1001`. The API also returns `E1001` for a line of
        credit (an offer without `term_options_months`) with `jurisdiction` `eu`.
        """
        return Response(quotes.make_quote(offers.load_offer(offer_id), today=timezone.now().date(), **query))

    @_writes_offers(
        body=serializers.OfferRequestSerializer,
        answer=serializers.OfferSerializer,
        errors=(AprAboveCap, OfferNotFound, ProviderTaken, SecondFactorRequired),
    )
    def replace(self, request: ApiRequest, offer_id: str, body: dict[str, Any]) -> Offer:
        """Replace an offer.

        The API stores the new terms as the next version. Only the account that created the offer can replace it. The
        account must have the role `owner` of the lender.
        """
        number = offers.read_offer_id(offer_id)
        return offers.replace_offer(number, actor=actor_of(request), terms=body, now=timezone.now())

    @_writes_offers(errors=(OfferNotFound, ProviderTaken, SecondFactorRequired))
    def deactivate(self, request: ApiRequest, offer_id: str) -> None:
        """Deactivate an offer.

        Only the account that created the offer can deactivate it. The account must not have the role `reviewer` or
        `reader` at the lender. `GET /v1/provider-offers/{offer_id}` still returns the offer. Idempotent.
        """
        offers.deactivate_offer(offers.read_offer_id(offer_id), actor=actor_of(request), now=timezone.now())


class MatchViewSet(ApiViewSet):
    tag = "provider-offers"

    @_reads_offers(
        body=serializers.MatchRequestSerializer, query=serializers.MatchQuery, answer=serializers.MatchSerializer
    )
    def create(self, request: ApiRequest, body: dict[str, Any], query: dict[str, Any]) -> dict[str, Any]:
        """Match offers to the caller.

        The response has the active offers. A/B variants for other accounts are excluded. If an offer does not match,
        its `why_not` has the reasons. The request creates no application and makes no decision.

        The champion of each offer's scoring model scores the facts in the request and the caller's other facts. If the
        credential has a list of scopes, the score uses only the other facts that the scopes cover. With the account's
        own log-in or an unrestricted API key, the API stores the last result of each model. If the stored result is
        `decline`, the catalog excludes the model's offers for credentials that can read scores (`score:read`).
        """
        with heavy.slot(request):
            return matching.match_offers(credential=request.auth, **body, **query, now=timezone.now())


class ProviderViewSet(ApiViewSet):
    """Lenders: their inbox, members, notices, decisions, and application links.

    With `BACKOFFICE_SECOND_FACTOR`, the default in production, members need a second factor to act on behalf of a
    lender. A member whose account has a second factor must always use it. Without the second factor, the API returns
    403 `E2012`.
    """

    tag = "providers"

    @_reads_offers(page=PageQuery, answer=provider_serializers.ProvidersPageSerializer)
    def list(self, request: ApiRequest) -> QuerySet[Provider]:
        """List your lenders.

        The list has the lenders that you are a member of, or are invited to, oldest first.
        """
        return providers.list_providers(request.user, now=timezone.now())

    @_decides_who_acts(
        body=provider_serializers.ProviderRequestSerializer,
        answer=provider_serializers.NewProviderSerializer,
        status=201,
        errors=(InsufficientScope, SecondFactorRequired),
    )
    def create(self, request: ApiRequest, body: dict[str, Any]) -> Provider:
        """Create a lender.

        The API assigns the `id`.

        Requires the permission of the group `Lender`. An invitation or a superuser adds an account to this group. If
        the account has a second factor, the credential must also have the second factor. With
        `BACKOFFICE_SECOND_FACTOR`, the default in production, staff need a second factor.
        """
        return providers.make_provider(**body, actor=actor_of(request), now=timezone.now())

    @_decides_who_acts(
        body=provider_serializers.ProviderRequestSerializer,
        answer=provider_serializers.NewProviderSerializer,
        errors=(ProviderNotFound, ProviderTaken, SecondFactorRequired),
    )
    def replace(self, request: ApiRequest, provider_id: str, body: dict[str, Any]) -> Provider:
        """Update a lender.

        The request replaces the data of the lender. If an optional field is missing from the request, the field becomes
        null or empty. If `logo` is missing, the logo does not change. Requires the role `owner`.
        """
        return providers.change_provider(provider_id, **body, by=actor_of(request))

    @endpoint(
        access="applications:write",
        body=provider_serializers.ApplicationLinkRequestSerializer,
        answer=provider_serializers.ApplicationLinkSerializer,
        status=201,
        errors=(ProviderNotFound, ProviderTaken, OfferNotFound, OfferUnavailable, SecondFactorRequired),
    )
    def link(self, request: ApiRequest, provider_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create a link to an application form.

        The link opens the offer's form with the answers in `prefill`. The applicant checks the answers, and sends the
        form. Without a log-in, the link shows only the offer. Requires the lender's role `owner` or `reviewer`. The
        link is signed and encrypted. The link expires at `expires_at`. The link expires earlier if its offer ends, or
        if its creator loses the role or is disabled.
        """
        prefill = {"application_data": {}, "applicants": [], **body.pop("prefill", {})}
        return make_link(provider_id, actor=actor_of(request), **body, prefill=prefill, now=timezone.now())

    @_reads_offers(
        page=PageQuery,
        answer=provider_serializers.MembersPageSerializer,
        errors=(ProviderNotFound, SecondFactorRequired),
    )
    def members(self, request: ApiRequest, provider_id: str) -> Response:
        """List the members of a lender.

        Requires a member of the lender. Owners also get the invitations.
        """
        provider = providers.load_read(provider_id, actor_of(request))
        page = self.get_paginated_response(self.paginate_queryset(providers.members_of(provider)))
        is_owner = providers.role_of(provider, request.user) == ProviderMember.OWNER
        invitations = providers.invitations_of(provider, now=timezone.now()) if is_owner else ()
        page.data["invitations"] = provider_serializers.InvitationSerializer(invitations, many=True).data
        return page

    @_decides_who_acts(
        body=provider_serializers.MemberRequestSerializer,
        answer=provider_serializers.InvitationSentSerializer,
        status=202,
        errors=(ProviderNotFound, ProviderTaken, SecondFactorRequired),
    )
    def invite(self, request: ApiRequest, provider_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Invite an account to a lender.

        A `reader` can read the applications to the lender. A `reviewer` can also decide applications. An `owner` can
        also create offers, and manage members. Requires the role `owner`. The response is the same for known and
        unknown user names. The invitation grants no rights before it is accepted, and expires after 7 days. The account
        that the lender belongs to gets the event `provider.member_invited`.
        """
        invited = providers.invite_member(provider_id, **body, by=actor_of(request), now=timezone.now())
        return {"username": invited.username, "invited": True}

    @_decides_who_acts(answer=provider_serializers.MemberSerializer, errors=(ProviderNotFound, SecondFactorRequired))
    def accept_invitation(self, request: ApiRequest, provider_id: str) -> ProviderMember:
        """Accept an invitation to a lender.

        Idempotent. If the account has a second factor, the credential must also have the second factor. With
        `BACKOFFICE_SECOND_FACTOR`, the default in production, staff need a second factor.
        """
        return providers.accept_invitation(provider_id, actor=actor_of(request), now=timezone.now())

    @_decides_who_acts(errors=(ProviderNotFound, ProviderTaken, NotFound, SecondFactorRequired))
    def withdraw_invitation(self, request: ApiRequest, provider_id: str, invitation_id: str) -> None:
        """Withdraw an invitation to a lender.

        Requires the role `owner`.
        """
        providers.withdraw_invitation(provider_id, invitation_id, by=actor_of(request), now=timezone.now())

    @_decides_who_acts(
        body=provider_serializers.RoleRequestSerializer,
        answer=provider_serializers.MemberSerializer,
        errors=(ProviderNotFound, ProviderTaken, NotFound, ValidationFailed, SecondFactorRequired),
    )
    def change_member(
        self, request: ApiRequest, provider_id: str, user_id: str, body: dict[str, Any]
    ) -> ProviderMember:
        """Change the role of a member.

        The new role applies immediately. Requires the role `owner`. For the account that the lender belongs to, the
        API returns 400 `E1001`.
        """
        return providers.change_member(provider_id, user_id, body["role"], by=actor_of(request))

    @_decides_who_acts(errors=(ProviderNotFound, ProviderTaken, NotFound, ValidationFailed, SecondFactorRequired))
    def remove_member(self, request: ApiRequest, provider_id: str, user_id: str) -> None:
        """Remove a member of a lender.

        The account can no longer act on behalf of the lender. Requires the role `owner`. For the account that the
        lender belongs to, the API returns 400 `E1001`.
        """
        providers.remove_member(provider_id, user_id, by=actor_of(request))

    @_reads_applications(page=InboxQuery, answer=InboxSerializer, errors=(ProviderNotFound, SecondFactorRequired))
    def inbox(self, request: ApiRequest, provider_id: str) -> Response:
        """List applications submitted to a lender.

        Requires a member of the lender. The list has the applications that were submitted, oldest first. Applications
        of erased accounts are excluded.
        """
        applications = self.filter_queryset(providers.inbox(provider_id, actor_of(request)))
        rows = self.paginate_queryset(applications) or []
        request_facts = {"provider_id": provider_id, "query": request.META.get("QUERY_STRING", "")[:500]}
        providers.note_inbox(request.user, request_facts, rows=len(rows))
        return self.get_paginated_response(rows)


class DecisionViewSet(ApiViewSet):
    tag = "providers"

    @renderer_classes([renderer_for(media_type) for media_type in decisions.KINDS])
    @_reads_applications(query=DecisionsQuery, errors=(ProviderNotFound, SecondFactorRequired, ValidationFailed))
    def list(self, request: ApiRequest, provider_id: str, query: dict[str, Any]) -> FileResponse:
        """Export the decisions of a lender.

        The file has the decisions about applications to the lender, oldest first. Applications of erased accounts are
        excluded. Requires a member of the lender.

        By default, the API returns CSV (`text/csv`). Spreadsheets don't execute text in the file as a formula. With
        `Accept: application/jsonl` or `application/x-ndjson`, the API returns JSON Lines. `Repr-Digest` has the SHA-256
        of the file. If there are more than 100,000 decisions, the API returns 400 `E1001`. In this case, request a
        shorter period.

        Each line is one decision. Each line has the `id` of the application, `submitted`, `decided`, `outcome`, and
        `reasons`. The line of an approval has the loan in `terms`. If the approval has no loan, was reopened, or is not
        the newest decision on the application, `terms` is null (in CSV, empty). Each line has `automated`, `score`,
        `override` (the decision differs from the score's proposal), and `days` from the submission to the decision. A
        credential with a list of scopes also requires `score:read`.
        """
        if not request.auth.carries("score:read"):
            raise InsufficientScope.lacking("score:read")
        media_type = request.accepted_renderer.media_type
        if media_type not in decisions.KINDS:  # only errors are JSON
            accept = request.META.get("HTTP_ACCEPT", "*/*")
            media_type = max(decisions.KINDS, key=lambda kind: quality_of(kind, accept))
            if not quality_of(media_type, accept):
                raise NotAcceptable
        actor = actor_of(request)
        provider = providers.load_read(provider_id, actor)
        with heavy.slot(request):
            return decisions.export_decisions(provider, actor, media_type=media_type, **query)


class CatalogueViewSet(ApiViewSet):
    """Data for marketplaces and agents: the discovery document and the catalog of offers."""

    tag = "ucp"

    @_reads_offers(query=serializers.CatalogueQuery, answer=serializers.CatalogueSerializer)
    def items(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:
        """List active offers.

        The newest offer is first. If an offer has `ab_test_variant` and `ab_test_allocation`, the API returns it only
        to a fixed set of accounts. If the credential can read scores (`score:read`), the API also excludes offers
        because of the caller's scores.
        """
        limit, offset, explain = query.pop("limit"), query.pop("offset"), query.pop("explain")
        filters = catalogue.CatalogueFilter.of(request.auth, **query)
        return catalogue.catalogue_page(filters, limit=limit, offset=offset, explain=explain)
