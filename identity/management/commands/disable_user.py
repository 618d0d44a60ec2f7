from argparse import ArgumentParser
from typing import Any

from django.db import transaction
from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.access.accounts import find_user, note_by_command


class Command(JsonCommand):
    help = "Disable an account. Its log-ins, tokens, and API keys stop working. Its records stay."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def run(self, **options: Any) -> dict[str, Any]:
        user = find_user(options["username"])
        user.is_active = False
        with transaction.atomic():
            user.save(update_fields=["is_active"])
            note_by_command("disable_user", "account.disabled", account_id=user.pk, now=timezone.now())
        return {"id": user.pk}
