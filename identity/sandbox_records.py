from datetime import datetime

from oauth2_provider.models import Grant

from config.sandbox.clock import Timer
from identity.access.authentication import forget_credentials
from identity.kyc.models import KycVerification
from identity.models import ApiKey, Invitation, ManagedAccount, RefreshToken, User


def forget_checks(*, now: datetime) -> dict[str, int]:  # noqa: ARG001  workers have this signature
    """Clear the credential cache of this process. Other processes reject a revoked credential within seconds."""
    forget_credentials()
    return {}


TIMERS = (
    Timer(User, ("date_joined",), ("pk",)),
    Timer(ApiKey, ("created_at", "expires_at", "last_used_at"), ("owner",)),
    Timer(Invitation, ("created_at", "expires_at", "accepted_at", "revoked_at"), ("invited_by",)),
    Timer(ManagedAccount, ("created_at", "claimed_at"), ("user", "partner")),
    Timer(RefreshToken, ("expires_at",), ("family__user",)),
    Timer(Grant, ("expires",), ("user",)),
    Timer(KycVerification, ("created_at", "updated_at", "refreshed_at", "expires_at", "completed_at"), ("user",)),
)
