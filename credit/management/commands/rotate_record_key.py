from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from config.ops.commands import JsonCommand
from credit.anchoring.record_keys import PUBLISHED_AHEAD, rotate


class Command(JsonCommand):
    help = (
        "Make the next key that signs records for the ledger, announced under the one before. It is published at once "
        f"and signs after {PUBLISHED_AHEAD.seconds} seconds; the older ones stay published for ever."
    )

    def run(self, **_options: Any) -> dict[str, Any]:
        if not settings.ANCHOR_DECISIONS:
            raise CommandError("Nothing is anchored, so nothing is signed: set ANCHOR_DECISIONS=1 first.")
        fresh = rotate(now=timezone.now())
        return {"key": fresh.key_id, "public_key": fresh.public_key, "valid_from": fresh.valid_from}
