from argparse import ArgumentParser
from typing import Any

from config.ops.commands import JsonCommand
from identity.access.accounts import find_user


class Command(JsonCommand):
    help = "Remove a person's second factor; if they need one, they add a new one at the next log-in."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def run(self, **options: Any) -> dict[str, Any]:
        user: Any = find_user(options["username"])
        removed, _by_model = user.authenticator_set.all().delete()
        return {"id": user.pk, "removed": removed}
