from typing import Any

from django.utils import timezone

from config.ops import pruning
from config.ops.commands import JsonCommand


class Command(JsonCommand):
    help = "Delete stored answers, counters, tokens and items whose time is over, in short transactions."

    def run(self, **_options: Any) -> dict[str, Any]:
        return pruning.prune(now=timezone.now())
