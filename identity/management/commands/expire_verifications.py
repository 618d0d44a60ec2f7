"""Expire identity verifications that nobody took up."""

from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.kyc.verifications import OPEN_HOURS, expire_verifications


class Command(JsonCommand):
    """Move verifications whose person never came to `expired`."""

    help = f"Expire identity verifications that nobody began within {OPEN_HOURS} hours."

    def run(self, **_options: Any) -> dict[str, Any]:
        """Expire them, each in its own transaction."""
        return expire_verifications(now=timezone.now())
