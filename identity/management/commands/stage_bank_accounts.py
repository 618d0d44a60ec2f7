from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.bank.services import stage_missing_accounts


class Command(JsonCommand):
    help = "Stage the accounts of bank items whose first fetch failed. Safe to run at any time."

    def run(self, **_options: Any) -> dict[str, Any]:
        return stage_missing_accounts(now=timezone.now())
