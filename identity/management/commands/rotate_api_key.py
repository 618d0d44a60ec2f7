from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from config.core.lifecycle import Actor
from config.ops.commands import JsonCommand, days
from identity.access.accounts import find_api_key
from identity.access.keys import rotate_api_key
from identity.access.models import AccountHistory


class Command(JsonCommand):
    help = (
        "Rotate an API key. The new key has the same owner, name, and scopes. The old key works until its grace "
        "period ends."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id")
        parser.add_argument("--grace-days", type=days, default=7)

    def run(self, **options: Any) -> dict[str, Any]:
        key, grace, now = find_api_key(options["id"]), timedelta(days=options["grace_days"]), timezone.now()
        with transaction.atomic():
            issued = rotate_api_key(key, now=now, grace=grace)
            AccountHistory.note(
                "api_key.rotated", Actor.system("rotate_api_key"), account_id=key.owner_id, now=now,
                object_id=issued.record.pk, details={"replaces": key.pk},
            )  # fmt: skip
        return issued.members()
