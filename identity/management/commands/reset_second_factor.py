from argparse import ArgumentParser
from typing import Any

from django.db import transaction
from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.access.accounts import find_user, note_by_command


class Command(JsonCommand):
    help = (
        "Remove the second factor of an account. If the account requires a second factor, its owner adds a new "
        "second factor at the next log-in."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def run(self, **options: Any) -> dict[str, Any]:
        user: Any = find_user(options["username"])
        with transaction.atomic():
            removed, _by_model = user.authenticator_set.all().delete()
            if removed:
                action = "account.second_factor_removed"
                note_by_command("reset_second_factor", action, account_id=user.pk, now=timezone.now())
        return {"id": user.pk, "removed": removed}
