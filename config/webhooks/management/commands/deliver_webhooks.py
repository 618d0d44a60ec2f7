from argparse import ArgumentParser
from typing import Any

from config.ops import checks
from config.ops.commands import JsonCommand, stopping
from config.webhooks.worker import Worker


class Command(JsonCommand):
    help = "Deliver webhooks until stopped (SIGTERM or SIGINT: what is being sent is finished first)."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="End when nothing is due any more.")

    def run(self, **options: Any) -> dict[str, Any]:
        checks.require_at_start()
        worker = Worker()
        with stopping(worker.stop):
            return worker.run(once=options["once"])
