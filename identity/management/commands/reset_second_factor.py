from argparse import ArgumentParser
from typing import Any

from config.backoffice.models import Authenticator
from config.ops.commands import JsonCommand
from identity.access.accounts import find_user


class Command(JsonCommand):
    help = "Take a person's authenticators away; the next log-in at the back office asks for a new one."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def run(self, **options: Any) -> dict[str, Any]:
        user = find_user(options["username"])
        removed, _by_model = Authenticator.objects.filter(user=user).delete()
        return {"id": user.pk, "removed": removed}
