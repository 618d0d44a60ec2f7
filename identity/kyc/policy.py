"""Who may move an identity verification where."""

from typing import TYPE_CHECKING

from config.api.errors import ApiError, ValidationFailed
from config.lifecycle import Actor, Role
from identity.kyc.machine import DECISIONS, MACHINE

if TYPE_CHECKING:
    from identity.kyc.models import KycVerification

REVIEW_PERMISSION = "identity.review_kycverification"


class InvalidVerificationMove(ValidationFailed):
    """A move that the verification's status, or the one who asks, does not allow now."""

    @classmethod
    def between(cls, verification: "KycVerification", to: str) -> "InvalidVerificationMove":
        """Say from where to where, and which moves are allowed now."""
        allowed = MACHINE.requestable_from(verification.status)
        return cls(
            f"Cannot move verification {verification.pk} from '{verification.status}' to '{to}'; "
            f"allowed: {', '.join(allowed) or 'none'}."
        )


def refusal_of(  # noqa: PLR0911  one per rule
    verification: "KycVerification", to: str, actor: Actor, *, reason: str | None = "given"
) -> ApiError | None:
    """Return the error that moving `verification` to `to` meets for `actor` now, or None when the move is allowed.

    Without `reason` it is asked whether the move would be allowed once there is one.
    """
    role = MACHINE.moves_from(verification.status).get(to)
    if role is None or (role is Role.SYSTEM and not actor.is_system):
        return InvalidVerificationMove.between(verification, to)
    if actor.is_system:
        # A provider never decides what was given to a reviewer.
        return InvalidVerificationMove.between(verification, to) if role is Role.REVIEWER else None
    if role is Role.EITHER and actor.user.pk != verification.user_id:
        return InvalidVerificationMove("Only the person themselves can cancel their verification.")
    if role is Role.REVIEWER:
        if not actor.user.has_perm(REVIEW_PERMISSION):
            return InvalidVerificationMove("This decision belongs to a reviewer.")
        if actor.user.pk == verification.user_id:
            return InvalidVerificationMove("Nobody decides about their own verification.")
        if to in DECISIONS and not (reason or "").strip():
            return InvalidVerificationMove("A decision needs a reason.")
    return None
