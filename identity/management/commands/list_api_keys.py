from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.utils import timezone

from config.ops.commands import JsonCommand, days
from identity.models import ApiKey


class Command(JsonCommand):
    help = "List API keys, oldest first. With --older-than, list only older keys, to rotate them."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than", type=days, metavar="DAYS", help="Only keys created more than DAYS days ago."
        )

    def run(self, **options: Any) -> dict[str, Any]:
        now = timezone.now()
        keys = ApiKey.objects.select_related("owner").order_by("created_at")
        if options["older_than"] is not None:
            keys = keys.filter(created_at__lt=now - timedelta(days=options["older_than"]))
        return {
            "keys": [
                {
                    "id": key.pk,
                    "username": key.owner.username,
                    "name": key.name,
                    "scopes": key.scopes,
                    "state": key.state_at(now),
                    "created_at": key.created_at,
                    "expires_at": key.expires_at,
                    "last_used_at": key.last_used_at,
                }
                for key in keys
            ]
        }
