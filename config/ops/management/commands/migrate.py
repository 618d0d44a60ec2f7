from functools import partial
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.commands.migrate import Command as Migrate

from config.core.databases import alone, retry_deadlocks
from config.ops.checks import check_installation
from config.ops.management.commands.makemigrations import Autodetector


class Command(Migrate):
    """Migrate. If several start at once, each waits for the one before it, and finds nothing left to do.

    A database of another kind of installation is left as it is.
    """

    autodetector = Autodetector

    def execute(self, *arguments: Any, **options: Any) -> Any:
        # Django's checks among it: they ask the database what it can, and SQLite, when another migrates, does not say.
        with alone(options["database"], purpose="migrate"):
            for problem in check_installation([options["database"]]):
                if problem.is_serious():
                    raise ImproperlyConfigured(str(problem.msg))
            # A migration locks several tables, and so does a request that is served meanwhile.
            return retry_deadlocks(partial(super().execute, *arguments, **options))
