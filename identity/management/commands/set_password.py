from argparse import ArgumentParser
from typing import Any

from config.ops.commands import JsonCommand
from identity.access.accounts import add_password_arguments, find_user, take_password


class Command(JsonCommand):
    help = "Set an account's password, and revoke every token from the old one."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        add_password_arguments(parser)

    def run(self, **options: Any) -> dict[str, Any]:
        user = find_user(options["username"])
        user.set_password(take_password(options, user))
        user.save(update_fields=["password", "credentials_changed_at"])
        return {"id": user.pk}
