"""Management commands that operators and scripts can both use."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config.api.renderers import render_json


class JsonCommand(BaseCommand):
    """A command that does one job, is safe to run twice, and prints one JSON object on the last line with `--json`.

    A subclass implements `run` and returns what is to be shown.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json`, then what the subclass takes."""
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="Print one JSON object on the last line."
        )
        self.arguments(parser)

    def arguments(self, parser: ArgumentParser) -> None:
        """Add the command's own arguments."""

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do the job and show the result."""
        result = self.run(**options)
        if options["as_json"]:
            self.stdout.write(render_json(result).decode())
            return
        for name, value in result.items():
            self.stdout.write(f"{name}: {value}")

    def run(self, **options: Any) -> dict[str, Any]:
        """Do the job; return what is to be shown, in order."""
        raise NotImplementedError
