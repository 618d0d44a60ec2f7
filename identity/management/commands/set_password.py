"""Change an account's password."""

from argparse import ArgumentParser
from typing import Any

from config.api.commands import JsonCommand
from identity.accounts import find_user


class Command(JsonCommand):
    """Change a password; every token issued before ends."""

    help = "Set an account's password and end every token issued under the old one."

    def arguments(self, parser: ArgumentParser) -> None:
        """Take the account and its new password."""
        parser.add_argument("username")
        parser.add_argument("--password", required=True)

    def run(self, **options: Any) -> dict[str, Any]:
        """Change the password."""
        user = find_user(options["username"])
        user.set_password(options["password"])
        user.save(update_fields=["password", "credentials_changed_at"])
        return {"id": user.pk}
