from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from config.core.json_text import parse_rfc3339
from config.core.names import NameTaken
from config.ops.commands import JsonCommand, days
from identity.access.accounts import find_user, note_by_command
from identity.access.keys import DEFAULT_DAYS, create_api_key


class Command(JsonCommand):
    help = (
        "Create an API key for an account, and print the key and its secret once. The key counts as created "
        "without a second factor. If an operation requires a second factor, the API returns 403 E2012."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", required=True)
        parser.add_argument(
            "--scope", action="append", help="A scope of the key. Repeatable. Without it, the key is unrestricted."
        )
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--expires-days", type=days, default=DEFAULT_DAYS)
        end.add_argument("--expires-at", help="The expiry in RFC 3339, for example 2030-01-31T12:00:00Z.")

    def run(self, **options: Any) -> dict[str, Any]:
        now = timezone.now()
        expires_at = now + timedelta(days=options["expires_days"])
        if options["expires_at"]:
            parsed = parse_rfc3339(options["expires_at"])
            if parsed is None:
                raise CommandError("--expires-at must be RFC 3339 with a time zone, for example 2030-01-31T12:00:00Z.")
            expires_at = parsed
        owner, scopes = find_user(options["username"]), options["scope"]
        try:
            with transaction.atomic():
                issued = create_api_key(
                    owner=owner, name=options["name"], scopes=scopes, now=now, expires_at=expires_at
                )
                key = {"object_id": issued.record.pk, "details": {"scopes": scopes}}
                note_by_command("create_api_key", "api_key.created", account_id=owner.pk, now=now, **key)
        except NameTaken as error:
            raise CommandError(
                f"The account has a key with the name {options['name']}, or with a name that looks like it."
            ) from error
        return issued.members()
