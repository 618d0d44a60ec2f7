"""Who may see a claim, and who may move it where under each review policy (`REVIEW_POLICY`).

`open` lets the owner make every move of the table. `reviewed` gives approval and the end of a dispute to people with
the permission `claims.review_claim`. `four_eyes` demands besides that they are not the owner.
"""

from typing import TYPE_CHECKING, Any

from django.conf import settings

from claims.machine import CONDITIONAL, MACHINE, SHARED
from config.api.errors import ApiError
from config.lifecycle import Actor, ReviewerRequired, Role

if TYPE_CHECKING:
    from claims.models import Claim

REVIEW_PERMISSION = "claims.review_claim"


class ClaimNotFound(ApiError):
    """No such claim, or not one that the caller may see or change."""

    status, error, code, stored = 404, "claim_not_found", "E4003", True
    message = "There is no such claim."


class InvalidClaimTransition(ApiError):
    """A move that the claim's status does not allow now."""

    error, code, stored = "invalid_claim_transition", "E3002", True
    message = "The claim cannot be moved there."

    @classmethod
    def between(cls, claim: "Claim", to: str) -> "InvalidClaimTransition":
        """Say from where to where, and which moves are allowed now."""
        allowed = MACHINE.requestable_from(claim.status)
        return cls(
            f"Cannot move claim {claim.pk} from '{claim.status}' to '{to}'; allowed: {', '.join(allowed) or 'none'}.",
            details={"from": claim.status, "to": to, "allowed": allowed},
        )


def is_reviewer(user: Any) -> bool:
    """Say whether `user` may decide about claims."""
    return bool(user.has_perm(REVIEW_PERMISSION))


def is_visible(*, owner_id: int, visibility: str, user: Any) -> bool:
    """Say whether `user` may read a claim of this owner and visibility."""
    if owner_id == user.pk or visibility == SHARED:
        return True
    return visibility == CONDITIONAL and is_reviewer(user)


def refusal_of(claim: "Claim", to: str, actor: Actor) -> ApiError | None:  # noqa: PLR0911  one per rule
    """Return the error that moving `claim` to `to` meets for `actor` now, or None when the move is allowed."""
    if claim.deleted_at is not None:
        return ClaimNotFound()
    role = MACHINE.moves_from(claim.status).get(to)
    if role is None or actor.is_system:
        return InvalidClaimTransition.between(claim, to)
    if settings.REVIEW_POLICY == "open":
        return None
    is_owner = actor.user.pk == claim.user_id
    if role is Role.OWNER or (role is Role.EITHER and is_owner):
        return None if is_owner else ReviewerRequired("Only the claim's owner may make this move.")
    if not is_reviewer(actor.user):
        return ReviewerRequired()
    if settings.REVIEW_POLICY == "four_eyes" and is_owner:
        return ReviewerRequired("Nobody reviews their own claim.")
    return None
