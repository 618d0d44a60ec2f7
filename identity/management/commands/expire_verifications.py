from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.kyc.services import OPEN_HOURS, expire_verifications


class Command(JsonCommand):
    help = f"Expire identity verifications that nobody began within {OPEN_HOURS} hours."

    def run(self, **_options: Any) -> dict[str, Any]:
        return expire_verifications(now=timezone.now())
