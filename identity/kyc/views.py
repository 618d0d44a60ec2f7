from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views import View

from config.api.idempotency import Outcome, ReservableKey, run_once
from config.api.views import ApiRequest, ApiViewSet, endpoint, require_self
from config.clients.provider import ProviderUnavailable
from config.core.credentials import PUBLIC, InvalidSignature, TimestampOutOfRange
from config.core.errors import MalformedJSON, PayloadTooLarge, UserMismatch
from config.core.json_bodies import read_body
from config.core.json_text import render_json
from config.core.lifecycle import actor_of
from identity.errors import TooManyAttempts, VerificationNotFound
from identity.kyc import services
from identity.kyc.models import KycVerification
from identity.kyc.serializers import VerificationRequestSerializer, VerificationSerializer
from identity.providers.base import Progress
from identity.providers.choice import open_banking
from identity.providers.models import SandboxVerification
from identity.providers.sandbox import Sandbox, complete_verification

_OUTCOMES = {"pass": Progress.PASSED, "fail": Progress.FAILED, "review": Progress.REVIEW}


class KycViewSet(ApiViewSet):
    """Identity verifications."""

    tag = "kyc"

    @endpoint(
        access="identity:write",
        body=VerificationRequestSerializer,
        answer=VerificationSerializer,
        idempotent=True,
        reserves_key=True,
        errors=(UserMismatch, TooManyAttempts, ProviderUnavailable),
    )
    def create(self, request: ApiRequest, body: dict[str, Any], key: ReservableKey | None) -> Outcome:
        """Create an identity verification.

        The applicant continues at `hosted_url`.

        If the account has an open verification with the same `template_id` and `redirect_uri`, the API returns this
        verification. The API also returns a verification in `processing`. The API cancels any other open verification.
        An account has at most three attempts in 30 days. Only attempts that the applicant started count. Outside of
        production, the sandbox vendor has no limit.
        """
        stored = None if key is None else key.stored()
        if stored is not None:
            return stored
        require_self(request, body.pop("user_id", request.user.pk))
        # The name makes concurrent requests with the same Idempotency-Key create the same verification.
        named = None if key is None else key.key
        current = services.resume_verification(user=request.user, now=timezone.now(), **body)
        if current is not None:
            outcome = Outcome(200, render_json(VerificationSerializer.represent(current)))
            return run_once(key, lambda: outcome)
        state = services.request_verification(user=request.user, key=named, now=timezone.now(), **body)

        def work() -> Outcome:
            verification = services.create_verification(
                actor=actor_of(request), state=state, now=timezone.now(), **body
            )
            return Outcome(200, render_json(VerificationSerializer.represent(verification)))

        return run_once(key, work)

    @endpoint(access="identity:read", answer=VerificationSerializer, errors=(VerificationNotFound, ProviderUnavailable))
    def status(self, request: ApiRequest, verification_id: str) -> KycVerification:
        """Get an identity verification.

        Until the verification is decided, the API requests the status from the vendor, at most once in 10 s.
        """
        return services.read_verification(verification_id, user=request.user, now=timezone.now())

    @endpoint(
        access=PUBLIC,
        errors=(InvalidSignature, TimestampOutOfRange, MalformedJSON, PayloadTooLarge, ProviderUnavailable),
    )
    def receive(self, request: ApiRequest) -> dict[str, Any]:
        """Receive an event of the identity vendor.

        The vendor signs the event. Plaid signs it in the header `Plaid-Verification`.

        The API uses only the id in the event, and requests the verification's status from the vendor. Events can
        therefore arrive twice, late, or out of order.
        """
        body = read_body(request)
        now = timezone.now()
        reference = open_banking().verify_event(request.headers, body, now=now)
        if reference is not None:
            services.receive_event(reference, now=now)
        return {}


class SandboxPage(View):
    """The sandbox's hosted page. It shows a verification and accepts its outcome once. The page's URL is secret."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest, page_token: str) -> HttpResponse:
        return self._show(request, self._find(page_token))

    def post(self, request: HttpRequest, page_token: str) -> HttpResponse:
        verification = self._find(page_token)
        progress = _OUTCOMES.get(request.POST.get("outcome", ""))
        if verification is None:
            return self._show(request, None)
        if progress is None:
            return self._show(request, verification, problem="Choose one of the three outcomes.")
        if self._is_open(verification):
            state = complete_verification(page_token, progress, now=timezone.now())
            services.apply_state(verification, state, now=timezone.now())
        # Redirect, so that a reload of the page doesn't submit the form again.
        return HttpResponseRedirect(request.path, status=303)

    def _find(self, page_token: str) -> KycVerification | None:
        """Return the verification of this URL if the sandbox is the configured vendor."""
        if Sandbox.name != settings.OPEN_BANKING or "\0" in page_token:
            return None
        named = SandboxVerification.objects.filter(page_token=page_token).values("reference")
        return KycVerification.objects.filter(provider=Sandbox.name, provider_reference__in=named).first()

    def _is_open(self, verification: KycVerification) -> bool:
        return verification.is_open and verification.expires_at > timezone.now()

    def _show(self, request: HttpRequest, verification: KycVerification | None, problem: str = "") -> HttpResponse:
        context = {
            "verification": verification,
            "problem": problem,
            "is_open": verification is not None and self._is_open(verification),
            "provider_name": settings.PROVIDER_NAME,
        }
        status = 404 if verification is None else 400 if problem else 200
        response = render(request, "identity/verification.html", context, status=status)
        response.headers["Cache-Control"] = "no-store"
        return response
