from typing import Any

from django.utils import timezone

from config.ops import pruning
from config.ops.commands import JsonCommand
from config.ops.failed_items import failures_at


class Command(JsonCommand):
    help = "Delete expired responses, counters, tokens, and items, in short transactions."

    fault = "{failed} rules, tasks, or rows failed. The next run retries them."

    def run(self, **_options: Any) -> dict[str, Any]:
        now = timezone.now()
        return {**pruning.prune(now=now), "failed": failures_at(now)}
