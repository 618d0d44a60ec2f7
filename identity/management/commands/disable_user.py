from argparse import ArgumentParser
from typing import Any

from config.ops.commands import JsonCommand
from identity.access.accounts import find_user


class Command(JsonCommand):
    help = "Disable an account. Its log-ins, tokens, and API keys stop working. Its records stay."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def run(self, **options: Any) -> dict[str, Any]:
        user = find_user(options["username"])
        user.is_active = False
        user.save(update_fields=["is_active"])
        return {"id": user.pk}
