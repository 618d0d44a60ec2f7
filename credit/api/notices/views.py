from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import renderer_classes
from rest_framework.response import Response

from config.api.serializers import PageQuery
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import FIRST_PARTY, InsufficientScope
from config.core.digest import digest_of
from config.core.errors import NotAcceptable, NotFound
from config.core.lifecycle import RecordNotEditable, ReviewerRequired, SecondFactorRequired, actor_of
from credit.api.notices import serializers
from credit.api.printing import HTML, PDF, PRINTABLE, printed
from credit.applications.services import load_for
from credit.core.errors import READ_ERRORS, ApplicationNotFound, ProviderNotFound
from credit.models import Consent, Delivery, Notice, ReviewRequest
from credit.models.notices import NoticeSettled
from credit.notices import retention, services
from credit.offers import providers

_reads = partial(endpoint, access="applications:read")
_writes = partial(endpoint, access="applications:write", idempotent=True)
_changes = partial(endpoint, access=FIRST_PARTY, idempotent=True)


class NoticeViewSet(ApiViewSet):
    """Notices to the applicant about an application."""

    tag = "applications"

    @_reads(page=serializers.NoticeQuery, answer=serializers.NoticesPageSerializer, errors=READ_ERRORS)
    def list(self, request: ApiRequest, application_id: str) -> QuerySet[Notice]:
        """List the notices of an application.

        The list has the notices of all statuses, newest first. The account that applies does not get notices that are
        only for another applicant.
        """
        return services.readable_notices(application_id, actor_of(request)).defer("content", "html")

    @renderer_classes(PRINTABLE)
    @_reads(answer=serializers.NoticeSerializer, errors=(*READ_ERRORS, NotFound, NotAcceptable))
    def retrieve(self, request: ApiRequest, application_id: str, notice_id: str) -> HttpResponse | Notice:
        """Get a notice.

        With `Accept: text/html`, the API returns the notice as an HTML page. With `Accept: application/pdf`, the API
        returns the page as a PDF, if the operator has installed weasyprint.

        If a notice is only for another applicant (`applicant`), only the lender's members and reviewers can get it. The
        lender must deliver this notice.

        `sha256` is the hash of the page. The notice's record in `proof` contains this hash. A notice with the status
        `ready` or `failed` counts as delivered (`portal`) when the applicant first gets it. For this, the applicant
        must use an unrestricted credential. The applicant must have consented to electronic notices, and the operator
        must have enabled this channel (`NOTICE_CHANNELS`). A risk-based pricing notice requires no consent. A notice
        with a credit score also requires `score:read`.
        """
        actor = actor_of(request)
        notice = services.load_notice(application_id, notice_id, actor)
        if notice.includes_score and not request.auth.carries("score:read"):
            raise InsufficientScope.lacking("score:read")
        is_page = request.accepted_renderer.media_type in {HTML, PDF}
        if is_page and notice.html is None:
            raise NotFound("The notice is not created yet, or was deleted after its retention period.")
        page = printed(request, notice.html or "")
        services.record_opening(notice, actor=actor, now=timezone.now())
        return page or notice

    @_changes(
        body=serializers.NoticeDeliveryRequestSerializer,
        answer=serializers.NoticeDeliverySerializer,
        status=201,
        errors=(*READ_ERRORS, NotFound, ReviewerRequired, NoticeSettled),
    )
    def deliver(self, request: ApiRequest, application_id: str, notice_id: str, body: dict[str, Any]) -> Delivery:
        """Record the delivery of a notice.

        Use the operation for a notice that the lender delivered by post or through its own channel. The operator must
        have enabled the channel (`NOTICE_CHANNELS`). Requires a reviewer.
        """
        return services.record_delivery(application_id, notice_id, **body, actor=actor_of(request), now=timezone.now())


class ProviderNoticeViewSet(ApiViewSet):
    tag = "providers"

    @_reads(
        page=serializers.ProviderNoticeQuery,
        answer=serializers.NoticesPageSerializer,
        errors=(ProviderNotFound, SecondFactorRequired),
    )
    def list(self, request: ApiRequest, provider_id: str) -> Response:
        """List the notices of a lender.

        The list has the notices of applications to the lender, in all statuses, ordered by `due_at`. The list includes
        the notices of erased accounts. Requires a member of the lender.
        """
        rows = services.notices_of_provider(provider_id, actor_of(request))
        notices = self.paginate_queryset(self.filter_queryset(rows.defer("content", "html"))) or []
        request_facts = {"provider_id": provider_id, "query": request.META.get("QUERY_STRING", "")[:500]}
        providers.note_inbox(request.user, request_facts, rows=len(notices))
        return self.get_paginated_response(notices)


class ReviewRequestViewSet(ApiViewSet):
    """Requests for reconsideration by a person."""

    tag = "applications"

    @_reads(page=PageQuery, answer=serializers.ReviewRequestsPageSerializer, errors=READ_ERRORS)
    def list(self, request: ApiRequest, application_id: str) -> QuerySet[ReviewRequest]:
        """List requests for reconsideration.

        The newest request is first.
        """
        return load_for(application_id, actor_of(request)).review_requests.order_by("-id")

    @_writes(
        body=serializers.ReviewRequestRequestSerializer,
        answer=serializers.ReviewRequestSerializer,
        status=201,
        errors=(ApplicationNotFound, RecordNotEditable),
    )
    def create(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> ReviewRequest:
        """Request reconsideration of a decision.

        Only the applicant can request reconsideration. The application must have a rejection, an open counteroffer, or
        an unaccepted approval on worse terms. For an offer with `jurisdiction` `eu`, each unaccepted approval with a
        score also qualifies. If the application does not qualify, or a request is open, the API returns 400 `E3004`.

        A reviewer must answer by `due_at`, 30 days after the request. This reviewer must not have taken part in an
        earlier decision or counteroffer. A decision, a counteroffer, an acceptance, a withdrawal, or an expiry closes
        the request.
        """
        return services.request_review(application_id, **body, actor=actor_of(request), now=timezone.now())


class HoldViewSet(ApiViewSet):
    """Retention of an application's records."""

    tag = "applications"

    @endpoint(access=FIRST_PARTY, answer=serializers.HoldSerializer, errors=READ_ERRORS)
    def retrieve(self, request: ApiRequest, application_id: str) -> dict[str, Any]:
        """Get retention periods and the litigation hold.

        Requires the permission of the group `Operations`.
        """
        return retention.show_hold(application_id, actor_of(request))

    @_changes(body=serializers.HoldRequestSerializer, answer=serializers.HoldSerializer, errors=READ_ERRORS)
    def replace(self, request: ApiRequest, application_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Start or end a litigation hold.

        During a hold, `prune` and erasures don't delete the application's records. The API stores each change of the
        hold with its reason. Requires the permission of the group `Operations`.
        """
        return retention.set_hold(application_id, **body, actor=actor_of(request), now=timezone.now())


class ConsentViewSet(ApiViewSet):
    """Consent to electronic notices (15 USC 7001(c))."""

    tag = "applications"

    def agreed(self, language: str) -> dict[str, Any]:
        """Return the account's consent to electronic notices, with the current text and its SHA-256 in hex."""
        newest, text = Consent.newest_of(self.request.user.pk), services.consent_text(language)
        return {
            "is_given": newest is not None and newest.is_given,
            "at": newest and newest.at,
            "text": text,
            "text_sha256": digest_of(text),
        }

    @endpoint(access=FIRST_PARTY, query=serializers.LanguageQuery, answer=serializers.ConsentSerializer)
    def retrieve(self, request: ApiRequest, query: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Get the consent to electronic notices.

        The response has the current text, and whether your consent is in effect.
        """
        return self.agreed(query["language"])

    @_changes(body=serializers.ConsentRequestSerializer, answer=serializers.ConsentSerializer)
    def give(self, request: ApiRequest, body: dict[str, Any]) -> dict[str, Any]:
        """Give the consent to electronic notices.

        The API stores the text with its hash. If the hash differs from the hash of the current text, the API
        returns 400 `E1001`.
        """
        services.give_consent(**body, actor=actor_of(request), now=timezone.now())
        return self.agreed(body["language"])

    @_changes()
    def withdraw(self, request: ApiRequest) -> None:
        """Withdraw the consent to electronic notices.

        The lender then delivers notices by other means. Only risk-based pricing notices can still be electronic.
        Idempotent.
        """
        services.withdraw_consent(actor=actor_of(request), now=timezone.now())
