"""Sign new tokens with a new key."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from config.api.commands import JsonCommand, days
from identity.tokens import rotate_signing_key


class Command(JsonCommand):
    """Make a new signing key; older ones verify until their overlap ends."""

    help = "Make a new token signing key. Tokens of the older keys are accepted for the overlap."

    def arguments(self, parser: ArgumentParser) -> None:
        """Take the overlap."""
        parser.add_argument("--overlap-days", type=days, default=7)

    def run(self, **options: Any) -> dict[str, Any]:
        """Make the key."""
        fresh, retired = rotate_signing_key(now=timezone.now(), overlap=timedelta(days=options["overlap_days"]))
        return {"kid": fresh.kid, "retired": retired}
