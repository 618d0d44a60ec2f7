"""Replace an API key without downtime."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.utils import timezone

from config.ops.commands import JsonCommand, days
from identity.access.accounts import find_api_key
from identity.access.keys import rotate_api_key


class Command(JsonCommand):
    """Make a key's successor; both work during the grace period."""

    help = "Make a successor with the same owner, name and scopes. The old key works until its grace period ends."

    def arguments(self, parser: ArgumentParser) -> None:
        """Take the key and the grace period."""
        parser.add_argument("id")
        parser.add_argument("--grace-days", type=days, default=7)

    def run(self, **options: Any) -> dict[str, Any]:
        """Make the successor."""
        old = find_api_key(options["id"])
        try:
            issued = rotate_api_key(old, now=timezone.now(), grace=timedelta(days=options["grace_days"]))
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        old.refresh_from_db(fields=["expires_at"])
        return {
            "id": issued.record.pk,
            "key": issued.key,
            "secret": issued.secret,
            "scopes": issued.record.scopes,
            "expires_at": issued.record.expires_at,
            "replaces": old.pk,
            "old_expires_at": old.expires_at,
        }
