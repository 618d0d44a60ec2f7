from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from config.ops.commands import JsonCommand, days
from identity.access.accounts import find_api_key, note_by_command
from identity.access.keys import rotate_api_key


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
            new = {"object_id": issued.record.pk, "details": {"replaces": key.pk}}
            note_by_command("rotate_api_key", "api_key.rotated", account_id=key.owner_id, now=now, **new)
        return issued.members()
