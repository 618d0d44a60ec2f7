from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.bank.services import stage_missing


class Command(JsonCommand):
    help = "Stage the accounts and bookings of bank items that a first fetch did not bring. Safe to run at any time."

    def run(self, **_options: Any) -> dict[str, Any]:
        return stage_missing(now=timezone.now())
