from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand, days
from identity.access.signing_keys import PUBLISHED_AHEAD_SECONDS, rotate_signing_key


class Command(JsonCommand):
    help = (
        "Create a new token signing key. The key is published immediately, and signs after "
        f"{PUBLISHED_AHEAD_SECONDS} seconds, so that every verifier knows it. Tokens of the older keys are valid for "
        "the overlap, and at least until then."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--overlap-days", type=days, default=7)

    def run(self, **options: Any) -> dict[str, Any]:
        fresh, retired = rotate_signing_key(now=timezone.now(), overlap=timedelta(days=options["overlap_days"]))
        return {"kid": fresh.kid, "signs_from": fresh.signs_from, "retired": retired}
