"""Endpoints of identity verification: each translates, none decides."""

from typing import Any

from django.utils import timezone

from config.api import idempotency
from config.api.credentials import PUBLIC
from config.api.parsers import parse_json, read_body
from config.api.views import ApiRequest, ApiViewSet, endpoint, require_self
from config.clients.provider import ProviderUnavailable
from config.core.errors import MalformedJSON, PayloadTooLarge, UserMismatch
from config.core.lifecycle import actor_of
from identity.access.signatures import InvalidSignature, TimestampOutOfRange
from identity.kyc import verifications
from identity.kyc.models import KycVerification
from identity.kyc.serializers import VerificationAnswer, VerificationBody
from identity.providers.base import VerificationState
from identity.providers.choice import open_banking


def _request_verification(_view: Any, request: ApiRequest, body: dict[str, Any]) -> VerificationState | None:
    """Ask the provider, before the transaction that keeps what it answers."""
    require_self(request, body.get("user_id", request.user.pk))
    return verifications.request_verification(
        user=request.user,
        key=idempotency.read_key(request),
        template_id=body["template_id"],
        redirect_uri=body["redirect_uri"],
        now=timezone.now(),
    )


class KycViewSet(ApiViewSet):
    """Identity verifications."""

    tag = "kyc"

    @endpoint(
        access="identity:write",
        body=VerificationBody,
        answer=VerificationAnswer,
        idempotent=True,
        ahead=_request_verification,
        errors=(UserMismatch, verifications.TooManyAttempts, ProviderUnavailable),
    )
    def create(self, request: ApiRequest, body: dict[str, Any], fetched: VerificationState | None) -> KycVerification:
        """Start an identity verification; the person goes on at `hosted_url`.

        An open verification of the same person is cancelled. At most three may be started in 30 days.
        """
        return verifications.create_verification(
            actor=actor_of(request),
            state=fetched,
            template_id=body["template_id"],
            redirect_uri=body["redirect_uri"],
            now=timezone.now(),
        )

    @endpoint(
        access="identity:read",
        answer=VerificationAnswer,
        errors=(verifications.VerificationNotFound, ProviderUnavailable),
    )
    def status(self, request: ApiRequest, verification_id: str) -> KycVerification:
        """Return an identity verification; the provider is asked at most once in ten seconds."""
        return verifications.read_verification(verification_id, user=request.user, now=timezone.now())

    @endpoint(
        access=PUBLIC,
        errors=(InvalidSignature, TimestampOutOfRange, MalformedJSON, PayloadTooLarge, ProviderUnavailable),
    )
    def receive(self, request: ApiRequest) -> dict[str, Any]:
        """Take an event of the provider, signed by it in `Plaid-Verification`.

        Only what the event is about is believed: how a verification stands is then asked of the provider, so an event
        may come twice, late, or out of order.
        """
        body = read_body(request)
        now = timezone.now()
        open_banking().verify_event(request.META.get("HTTP_PLAID_VERIFICATION", ""), body, now=now)
        verifications.receive_event(parse_json(body), now=now)
        return {}
