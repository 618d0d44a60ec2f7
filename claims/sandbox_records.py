"""What of claims moves with an account's clock, and what goes when it is reset."""

from claims.models import Claim
from config.sandbox import reset, timers


def register() -> None:
    timers.register_timer(Claim, "updated_at", owner="user")
    reset.register_task(hand_over)


def hand_over(going: reset.Reset) -> int:
    """Hand claims over as deleted: shared ones would still be shown under their publication."""
    gone = {"deleted_at": going.now, "deleted_by_id": going.account_id, "deleted_with": "sandbox reset"}
    return Claim.objects.filter(user_id=going.account_id).update(user_id=going.keeper_id, **gone)
