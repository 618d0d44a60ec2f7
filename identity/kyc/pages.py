"""The sandbox's hosted page, on which a person plays how a verification ends."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views import View

from identity.kyc.models import KycVerification
from identity.kyc.verifications import apply_state
from identity.providers.base import Progress
from identity.providers.models import SandboxVerification
from identity.providers.sandbox import Sandbox, play, state_of

OUTCOMES = {"pass": Progress.PASSED, "fail": Progress.FAILED, "review": Progress.REVIEW}
_TEMPLATE = "identity/verification.html"


class SandboxPage(View):
    """Shows a verification of the sandbox and takes its outcome, once. The address is the permission."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest, page_token: str) -> HttpResponse:
        """Show the page."""
        return self._show(request, self._find(page_token))

    def post(self, request: HttpRequest, page_token: str) -> HttpResponse:
        """Play an outcome; a second one changes nothing."""
        session = self._find(page_token)
        progress = OUTCOMES.get(request.POST.get("outcome", ""))
        if session is None:
            return self._show(request, None)
        if progress is None:
            return self._show(request, session, problem="Choose one of the three outcomes.", status=400)
        verification = self._verification_of(session)
        if verification is not None and self._is_open(session, verification):
            played = play(page_token, progress, now=timezone.now())
            apply_state(verification, state_of(played), now=timezone.now())
        # A page that is loaded again must not send the form again.
        return HttpResponseRedirect(request.path, status=303)

    def _find(self, page_token: str) -> SandboxVerification | None:
        """Return the verification that the address names, where the sandbox is the provider."""
        if Sandbox.name != settings.OPEN_BANKING or "\0" in page_token:
            return None
        return SandboxVerification.objects.filter(page_token=page_token).first()

    def _verification_of(self, session: SandboxVerification) -> KycVerification | None:
        """Return our record of it."""
        return KycVerification.objects.filter(provider=Sandbox.name, provider_reference=session.reference).first()

    def _is_open(self, session: SandboxVerification, verification: KycVerification | None) -> bool:
        """Say whether an outcome can still be played."""
        return (
            session.progress == Progress.WAITING
            and verification is not None
            and verification.is_open
            and verification.expires_at > timezone.now()
        )

    def _show(
        self, request: HttpRequest, session: SandboxVerification | None, *, problem: str = "", status: int = 200
    ) -> HttpResponse:
        """Render the page; without a verification it says so, with 404."""
        verification = self._verification_of(session) if session is not None else None
        context: dict[str, Any] = {
            "verification": verification,
            "problem": problem,
            "is_open": session is not None and self._is_open(session, verification),
            "provider_name": settings.PROVIDER_NAME,
        }
        response = render(request, _TEMPLATE, context, status=404 if verification is None else status)
        response.headers["Cache-Control"] = "no-store"
        return response
