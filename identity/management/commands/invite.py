from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.core.errors import ApiError
from config.core.lifecycle import Actor
from config.ops.commands import JsonCommand
from identity.accounts.invitations import invite
from identity.accounts.roles import roles


class Command(JsonCommand):
    help = (
        "Mail an invitation to an account with a role. Its link works once, for 7 days. Run the command again to send "
        "a new link."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--role", choices=tuple(roles()), default="developer")
        parser.add_argument("--provider-id", default="", help="The id of the invited member's lender.")
        parser.add_argument("--group", default="", help="The group of the invited staff.")

    def run(self, **options: Any) -> dict[str, Any]:
        facts = {name: options[name] for name in ("email", "role", "provider_id", "group")}
        try:
            invitation = invite(actor=Actor.system("invite"), **facts, now=timezone.now())
        except ApiError as refusal:
            raise CommandError(str(refusal)) from refusal
        return {"id": invitation.pk, "role": invitation.role, "expires_at": invitation.expires_at}
