from argparse import ArgumentParser
from typing import Any

from django.db import transaction
from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.access.accounts import add_password_arguments, find_user, note_by_command, take_password


class Command(JsonCommand):
    help = "Set an account's password, and revoke every token from log-ins with the old password."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        add_password_arguments(parser)

    def run(self, **options: Any) -> dict[str, Any]:
        user = find_user(options["username"])
        user.set_password(take_password(options, user))
        with transaction.atomic():
            user.save(update_fields=["password", "credentials_changed_at"])
            note_by_command("set_password", "account.password_changed", account_id=user.pk, now=timezone.now())
        return {"id": user.pk}
