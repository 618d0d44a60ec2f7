from datetime import datetime

from config.sandbox.clock import Timer
from credit import models
from credit.applications.services import expire_idle
from credit.notices.services import issue_due
from credit.terms import counteroffers


def expire(*, now: datetime) -> dict[str, int]:
    return {
        "counteroffers_expired": counteroffers.expire(now=now),
        "applications_expired": sum(expire_idle(now=now).values()),
    }


def make_notices(*, now: datetime) -> dict[str, int]:
    done = issue_due(now=now)
    return {"notices_made": done["ready"], "notices_overdue": done["overdue"]}


_MOMENTS = (
    "updated_at", "submitted_at", "reviewed_at", "accepted_at", "told_of_right_at", "complete_since",
    "withdrawn_from_at",
)  # fmt: skip
TIMERS = (
    Timer(models.Application, _MOMENTS, ("consumer",)),
    Timer(models.ProviderInvitation, ("invited_at",), ("provider__owner",)),
    Timer(models.Counteroffer, ("expires_at",), ("application__consumer",)),
    Timer(models.Clock, ("started_at", "due_at", "stopped_at"), ("application__consumer",)),
    Timer(models.Notice, ("due_at", "look_at", "made_at", "delivered_at"), ("application__consumer",)),
    Timer(models.Precontract, ("made_at", "provided_at", "opened_at"), ("application__consumer",)),
    Timer(models.Report, ("requested_at", "look_at", "expires_at"), ("application__consumer",)),
    Timer(models.ReviewRequest, ("requested_at", "due_at", "answered_at"), ("application__consumer",)),
    Timer(models.Correction, ("requested_at", "due_at", "closed_at"), ("application__consumer",)),
    Timer(models.DecisionAnchor, ("due_at",), ("application__consumer", "publication__principal")),
)
