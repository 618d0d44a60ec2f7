from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from credit.applications import IDLE_DAYS, expire_idle


class Command(JsonCommand):
    help = "Expire applications that sat idle too long: " + ", ".join(
        f"{status} {days} days" for status, days in IDLE_DAYS.items()
    )

    def run(self, **_options: Any) -> dict[str, Any]:
        counts = expire_idle(now=timezone.now())
        return {"expired": sum(counts.values()), "by_status": counts}
