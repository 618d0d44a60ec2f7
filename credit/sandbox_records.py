from datetime import datetime

from config.sandbox.clock import SandboxRecords, Timer
from credit.applications.services import expire_idle
from credit.models import (
    Application,
    Clock,
    Correction,
    Counteroffer,
    DecisionAnchor,
    Notice,
    Precontract,
    ProviderInvitation,
    Report,
    ReviewRequest,
)
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
RECORDS = SandboxRecords(
    timers=(
        Timer(Application, _MOMENTS, ("consumer",)),
        Timer(ProviderInvitation, ("invited_at",), ("provider__owner",)),
        Timer(Counteroffer, ("expires_at",), ("application__consumer",)),
        Timer(Clock, ("started_at", "due_at", "stopped_at"), ("application__consumer",)),
        Timer(Notice, ("due_at", "look_at", "made_at", "delivered_at"), ("application__consumer",)),
        Timer(Precontract, ("made_at", "provided_at", "opened_at"), ("application__consumer",)),
        Timer(Report, ("requested_at", "look_at", "expires_at"), ("application__consumer",)),
        Timer(ReviewRequest, ("requested_at", "due_at", "answered_at"), ("application__consumer",)),
        Timer(Correction, ("requested_at", "due_at", "closed_at"), ("application__consumer",)),
        Timer(DecisionAnchor, ("due_at",), ("application__consumer", "publication__principal")),
    ),
    workers=(expire, make_notices),
)
