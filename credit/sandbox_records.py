"""What of lending moves with an account's clock, and what goes when it is reset."""

from datetime import datetime

from config.sandbox import reset, timers
from credit.applications import expire_idle
from credit.models import Application, DecisionAnchor


def register() -> None:
    timers.register_timer(Application, "updated_at", "submitted_at", "reviewed_at", "accepted_at", owner="consumer")
    timers.register_timer(DecisionAnchor, "due_at", owner="application__consumer", or_owner="publication__principal")
    timers.register_worker(expire)
    reset.register_owned(Application, "consumer_id")


def expire(*, now: datetime) -> dict[str, int]:
    return {"applications_expired": sum(expire_idle(now=now).values())}
