from argparse import ArgumentParser
from typing import Any

from django.db import transaction
from django.utils import timezone

from config.core.lifecycle import Actor
from config.ops.commands import JsonCommand
from identity.access.accounts import find_user
from identity.access.models import AccountHistory


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
                actor = Actor.system("reset_second_factor")
                AccountHistory.note("account.second_factor_removed", actor, account_id=user.pk, now=timezone.now())
        return {"id": user.pk, "removed": removed}
