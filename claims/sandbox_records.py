from claims.models import Claim
from config.sandbox.records import Reset, SandboxRecords, Timer


def hand_over(going: Reset) -> int:
    """Hand claims over as deleted: shared ones would still be shown under their publication."""
    gone = {"deleted_at": going.now, "deleted_by_id": going.account_id, "deleted_with": "sandbox reset"}
    return Claim.objects.filter(user_id=going.account_id).update(user_id=going.keeper_id, **gone)


RECORDS = SandboxRecords(timers=(Timer(Claim, ("updated_at",), ("user",)),), tasks=(hand_over,))
