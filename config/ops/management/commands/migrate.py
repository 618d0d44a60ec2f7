from typing import Any

from django.core.management.commands.migrate import Command as Migrate

from config.core.databases import alone


class Command(Migrate):
    """Migrate. Of several that are started at once, each waits for the one before it, and finds nothing left to do."""

    def handle(self, *arguments: Any, **options: Any) -> None:
        with alone(options["database"], purpose="migrate"):
            super().handle(*arguments, **options)
