"""Ending verifications and asking for log-ins by hand, of a developer's own account in the sandbox."""

from datetime import datetime
from typing import Any

from django.conf import settings

from config.core.ids import get_by_uuid
from identity.bank.models import BankItem
from identity.errors import BankItemNotFound, InvalidVerificationTransition, VerificationNotFound
from identity.kyc import machine
from identity.kyc.models import KycVerification
from identity.kyc.services import apply_state
from identity.providers.base import Progress
from identity.providers.models import SandboxItem, SandboxVerification
from identity.providers.sandbox import Sandbox, play, state_of

OUTCOMES = {machine.VERIFIED: Progress.PASSED, machine.FAILED: Progress.FAILED, machine.PENDING_REVIEW: Progress.REVIEW}


def end_verification(verification_id: str, *, user: Any, outcome: str, now: datetime) -> KycVerification:
    """Play the person; raises VerificationNotFound, InvalidVerificationTransition for one that has ended."""
    own = KycVerification.objects.filter(user=user, provider=Sandbox.name)
    if Sandbox.name != settings.OPEN_BANKING:
        own = own.none()
    verification = get_by_uuid(own, verification_id, VerificationNotFound)
    if not verification.is_open or verification.expires_at <= now:
        raise InvalidVerificationTransition.between(verification, outcome)
    session = SandboxVerification.objects.get(pk=verification.provider_reference)
    return apply_state(verification, state_of(play(session.page_token, OUTCOMES[outcome], now=now)), now=now)


def require_login(item_id: str, *, user: Any) -> None:
    own = BankItem.objects.filter(user=user, provider=Sandbox.name, item_id=item_id)
    if "\0" in item_id or Sandbox.name != settings.OPEN_BANKING or not own.exists():
        raise BankItemNotFound("You have no such item at the sandbox's bank.")
    SandboxItem.objects.filter(pk=item_id).update(login_required=True)
