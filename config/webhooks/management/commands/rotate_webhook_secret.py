from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.core.ids import parse_uuid
from config.ops.commands import JsonCommand
from config.webhooks.endpoints import DEFAULT_GRACE_SECONDS, GRACE_MAX_SECONDS, WebhookEndpointNotFound, rotate_secret


class Command(JsonCommand):
    help = "Rotate the secret of a webhook endpoint. The old secret also signs during the grace period."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("endpoint_id")
        parser.add_argument("--grace-seconds", type=int, default=DEFAULT_GRACE_SECONDS)

    def run(self, **options: Any) -> dict[str, Any]:
        identifier, grace = parse_uuid(options["endpoint_id"]), options["grace_seconds"]
        if not 0 <= grace <= GRACE_MAX_SECONDS:
            raise CommandError(f"--grace-seconds must be from 0 to {GRACE_MAX_SECONDS}.")
        if identifier is None:
            raise CommandError(f"{options['endpoint_id']!r} is not the id of a webhook endpoint.")
        try:
            endpoint = rotate_secret(identifier, grace=timedelta(seconds=grace), now=timezone.now())
        except WebhookEndpointNotFound as missing:
            raise CommandError(str(missing)) from missing
        return {
            "id": str(endpoint.pk),
            "secret": endpoint.secret,
            "previous_secret_until": endpoint.previous_secret_until,
        }
