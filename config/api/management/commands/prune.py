"""Forget what has served its time."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from config.api.commands import JsonCommand


class Command(JsonCommand):
    """Let every room forget what it no longer has to remember; run it once an hour."""

    help = "Delete stored answers, counters, tokens and items whose time is over, in short transactions."

    def run(self, **_options: Any) -> dict[str, Any]:
        """Call each room in turn; return the counts by kind."""
        now = timezone.now()
        counts: dict[str, int] = {}
        for name in settings.PRUNERS:
            counts |= import_string(name)(now=now)
        return counts
