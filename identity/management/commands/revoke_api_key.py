from argparse import ArgumentParser
from typing import Any

from django.db import transaction
from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.access.accounts import find_api_key, note_by_command
from identity.access.keys import revoke_api_key


class Command(JsonCommand):
    help = "Revoke an API key, and print when it was revoked. Idempotent."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id")

    def run(self, **options: Any) -> dict[str, Any]:
        key, now = find_api_key(options["id"]), timezone.now()
        with transaction.atomic():
            if key.revoked_at is None:
                command, action = "revoke_api_key", "api_key.revoked"
                note_by_command(command, action, account_id=key.owner_id, now=now, object_id=key.pk)
            return {"id": key.pk, "revoked_at": revoke_api_key(key, now=now)}
