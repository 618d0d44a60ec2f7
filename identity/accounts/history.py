from datetime import datetime
from typing import Any

from config.core.lifecycle import Actor
from identity.accounts.models import AccountHistory


def record(
    action: str, *, account_id: int, actor: Actor, now: datetime, object_id: Any = "", details: Any = None
) -> None:
    """Write what was done about an account; call it in the transaction of what was done."""
    AccountHistory.objects.create(
        account_id=account_id,
        principal=actor.user,
        credential=actor.credential,
        action=action,
        object_id=str(object_id),
        details=details,
        at=now,
    )
