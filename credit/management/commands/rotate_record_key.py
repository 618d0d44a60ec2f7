from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from config.ops.commands import JsonCommand
from credit.anchoring.record_keys import PUBLISHED_AHEAD, rotate


class Command(JsonCommand):
    help = (
        "Create the next key that signs records for the ledger. The current key signs its announcement. The key is "
        f"published immediately, and signs after {PUBLISHED_AHEAD.seconds} seconds. Older keys stay published."
    )

    def run(self, **_options: Any) -> dict[str, Any]:
        if not settings.ANCHOR_DECISIONS:
            raise CommandError("No records are anchored, so no key is needed. Set ANCHOR_DECISIONS=1 first.")
        fresh = rotate(now=timezone.now())
        return {"key": fresh.key_id, "public_key": fresh.public_key, "valid_from": fresh.valid_from}
