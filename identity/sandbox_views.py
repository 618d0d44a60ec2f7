"""Complete verifications and require bank log-ins manually, in the sandbox and for the developer's own account."""

from typing import Any

from django.conf import settings
from django.utils import timezone

from config.api import serializers
from config.api.views import ApiRequest, endpoint
from config.core.ids import get_by_uuid
from config.sandbox.views import SandboxViewSet
from identity.bank.models import BankItem
from identity.errors import BankItemNotFound, InvalidVerificationTransition, VerificationNotFound
from identity.kyc import machine
from identity.kyc.models import KycVerification
from identity.kyc.serializers import VerificationSerializer
from identity.kyc.services import apply_state
from identity.providers.base import Progress
from identity.providers.models import SandboxItem, SandboxVerification
from identity.providers.sandbox import Sandbox, complete_verification

OUTCOMES = {machine.VERIFIED: Progress.PASSED, machine.FAILED: Progress.FAILED, machine.PENDING_REVIEW: Progress.REVIEW}


class OutcomeRequestSerializer(serializers.RequestSerializer):
    """The outcome of a verification."""

    outcome = serializers.OneOfField(
        tuple(OUTCOMES), help_text="The outcome. `pending_review` means a review by a person."
    )


class LoginRequiredPageSerializer(serializers.ResponseSerializer):
    """The item. The platform can't read the item until its owner logs in to the bank again."""

    item_id = serializers.TextField(help_text="The linked bank.")
    login_required = serializers.FlagField(help_text="Whether the next read requires a new log-in at the bank.")


class SandboxIdentityViewSet(SandboxViewSet):
    @endpoint(
        access="identity:write",
        body=OutcomeRequestSerializer,
        answer=VerificationSerializer,
        idempotent=True,
        errors=(VerificationNotFound, InvalidVerificationTransition),
    )
    def play_outcome(self, request: ApiRequest, verification_id: str, body: dict[str, Any]) -> KycVerification:
        """Complete an open verification.

        The result is the same as on the verification's page (`hosted_url`).
        """
        now, outcome = timezone.now(), body["outcome"]
        own = KycVerification.objects.filter(user=request.user, provider=Sandbox.name)
        if Sandbox.name != settings.OPEN_BANKING:
            own = own.none()
        verification = get_by_uuid(own, verification_id, VerificationNotFound)
        if not verification.is_open or verification.expires_at <= now:
            details = {"from": verification.status, "to": outcome}
            raise InvalidVerificationTransition(
                "The verification is not open. Create a new verification.", details=details
            )
        session = SandboxVerification.objects.get(pk=verification.provider_reference)
        state = complete_verification(session.page_token, OUTCOMES[outcome], now=now)
        return apply_state(verification, state, now=now)

    @endpoint(access="bankdata:write", answer=LoginRequiredPageSerializer, idempotent=True, errors=(BankItemNotFound,))
    def require_login(self, request: ApiRequest, item_id: str) -> dict[str, Any]:
        """Require a new bank log-in.

        If the item is your only linked item, the next read returns 502 `E5004` with a link token. Otherwise, reads
        return the other items, and this item has the status `login_required`.
        """
        own = BankItem.objects.filter(user=request.user, provider=Sandbox.name, item_id=item_id)
        if "\0" in item_id or Sandbox.name != settings.OPEN_BANKING or not own.exists():
            raise BankItemNotFound("You have no item with this id at the sandbox bank.")
        SandboxItem.objects.filter(pk=item_id).update(login_required=True)
        return {"item_id": item_id, "login_required": True}
