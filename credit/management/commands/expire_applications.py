from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from config.ops.failed_items import failures_at
from credit.applications.services import IDLE_DAYS, expire_idle
from credit.terms import counteroffers


class Command(JsonCommand):
    help = (
        "Expire applications that were idle too long: "
        + ", ".join(f"{status} {days} days" for status, days in IDLE_DAYS.items())
        + ". Also reject applications whose counteroffer was not accepted in time."
    )

    fault = "{failed} applications or counteroffers failed; they are tried again later."

    def run(self, **_options: Any) -> dict[str, Any]:
        now = timezone.now()
        rejected = counteroffers.expire(now=now)
        counts = expire_idle(now=now)
        return {
            "expired": sum(counts.values()),
            "by_status": counts,
            "counteroffers_expired": rejected,
            "failed": failures_at(now),
        }
