from argparse import ArgumentParser
from typing import Any

from config.ops import checks
from config.ops.commands import JsonCommand, stopping
from config.webhooks.worker import Worker


class Command(JsonCommand):
    help = "Deliver webhooks until SIGTERM or SIGINT. The command first finishes the deliveries that it is sending."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Exit once no delivery is due.")

    def run(self, **options: Any) -> dict[str, Any]:
        checks.require_at_start()
        worker = Worker()
        with stopping(worker.stop):
            return worker.run(once=options["once"])
