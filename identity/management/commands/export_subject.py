import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.core import audit
from config.core.errors import Unavailable
from config.core.export import write_export
from config.core.ids import parse_positive_int64
from config.ops.commands import JsonCommand
from identity.access.models import User


class Command(JsonCommand):
    help = "Write a copy of the stored personal data of a person to a zip file (GDPR Article 15)."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user_id", help="The account's user_id.")
        parser.add_argument("--to", required=True, type=Path, help="The file to create; it must not exist.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Write a zip that only its owner can read. After an error, delete the incomplete file."""
        number = parse_positive_int64(options["user_id"])
        if number is None or not User.objects.filter(pk=number).exists():
            raise CommandError(f"Account {options['user_id']} not found.")
        path: Path = options["to"]
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{path} can't be created: {error.strerror}.") from error
        try:
            with os.fdopen(descriptor, "wb") as file:
                counts = write_export(number, file, now=timezone.now())
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError | Unavailable):  # the disk is full, or the storage is unavailable
                raise CommandError(f"{path} can't be written: {error}. Run the command again later.") from error
            raise
        actor = {"app_name": "command:export_subject"}
        audit.emit("personal_data.export", actor=actor, entity=audit.entity(User._meta.label_lower, number))
        return {"user_id": options["user_id"], "file": str(path), **counts}
