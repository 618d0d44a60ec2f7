from argparse import ArgumentParser
from typing import Any

from config.ops.commands import JsonCommand
from identity.access.accounts import find_user


class Command(JsonCommand):
    help = (
        "Remove the second factor of an account. If the account requires one, its owner adds a new one at the next "
        "log-in."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def run(self, **options: Any) -> dict[str, Any]:
        user: Any = find_user(options["username"])
        removed, _by_model = user.authenticator_set.all().delete()
        return {"id": user.pk, "removed": removed}
