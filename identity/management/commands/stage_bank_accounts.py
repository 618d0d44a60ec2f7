from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from config.ops.failed_items import failures_at
from identity.bank.services import stage_missing


class Command(JsonCommand):
    help = "Stage the accounts and transactions of bank items that the first read missed. Safe to run at any time."

    fault = "{failed} bank items failed; they are tried again later."

    def run(self, **_options: Any) -> dict[str, Any]:
        now = timezone.now()
        return {**stage_missing(now=now), "failed": failures_at(now)}
