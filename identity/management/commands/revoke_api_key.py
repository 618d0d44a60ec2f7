from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.access.accounts import find_api_key
from identity.access.keys import revoke_api_key


class Command(JsonCommand):
    help = "Revoke an API key, and print when it was revoked. Idempotent."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id")

    def run(self, **options: Any) -> dict[str, Any]:
        key = find_api_key(options["id"])
        return {"id": key.pk, "revoked_at": revoke_api_key(key, now=timezone.now())}
