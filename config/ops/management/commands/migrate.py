from typing import Any

from django.core.management.commands.migrate import Command as Migrate

from config.core.databases import alone


class Command(Migrate):
    """Migrate. Of several that are started at once, each waits for the one before it, and finds nothing left to do."""

    def execute(self, *arguments: Any, **options: Any) -> Any:
        # Django's checks among it: they ask the database what it can, and SQLite, when another migrates, does not say.
        with alone(options["database"], purpose="migrate"):
            return super().execute(*arguments, **options)
