from typing import Any, NamedTuple

from django.utils import timezone

from config.api import serializers
from config.api.views import ApiRequest, endpoint
from config.sandbox.views import SandboxViewSet
from identity.errors import BankItemNotFound, InvalidVerificationTransition, VerificationNotFound
from identity.kyc.models import KycVerification
from identity.kyc.serializers import VerificationSerializer
from identity.sandbox_services import OUTCOMES, end_verification, require_login


class OutcomeRequestSerializer(serializers.RequestSerializer):
    """How the verification is to end."""

    outcome = serializers.OneOfField(
        tuple(OUTCOMES), help_text="How the verification ends, or that a person looks at it."
    )


class LoginRequiredPageSerializer(serializers.ResponseSerializer):
    """The item, which cannot be read until its owner has logged in again."""

    item_id = serializers.TextField(help_text="The linked bank.")
    login_required = serializers.FlagField(help_text="Whether its next fetch needs the person to log in again.")


class LoginRequired(NamedTuple):
    item_id: str
    login_required: bool = True


class SandboxIdentityViewSet(SandboxViewSet):
    @endpoint(
        access="identity:write",
        body=OutcomeRequestSerializer,
        answer=VerificationSerializer,
        idempotent=True,
        errors=(VerificationNotFound, InvalidVerificationTransition),
    )
    def play_outcome(self, request: ApiRequest, verification_id: str, body: dict[str, Any]) -> KycVerification:
        """End an open verification of yours, as the page at its `hosted_url` does."""
        return end_verification(verification_id, user=request.user, outcome=body["outcome"], now=timezone.now())

    @endpoint(access="bankdata:write", answer=LoginRequiredPageSerializer, idempotent=True, errors=(BankItemNotFound,))
    def require_login(self, request: ApiRequest, item_id: str) -> LoginRequired:
        """Let the bank of an item of yours ask for a new log-in: the next read is 502 `E5004` with a link token."""
        require_login(item_id, user=request.user)
        return LoginRequired(item_id)
