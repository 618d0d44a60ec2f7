"""Stage the accounts of bank items that could not be read when they were linked."""

from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.bank.items import stage_missing_accounts


class Command(JsonCommand):
    """Ask the provider again for accounts that are missing from staging."""

    help = "Stage the accounts of bank items whose first fetch failed. Safe to run at any time."

    def run(self, **_options: Any) -> dict[str, Any]:
        """Try each item once."""
        return stage_missing_accounts(now=timezone.now())
