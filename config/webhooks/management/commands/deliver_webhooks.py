import signal
from argparse import ArgumentParser
from typing import Any

from config.ops import doctor
from config.ops.commands import JsonCommand
from config.webhooks.worker import Worker


class Command(JsonCommand):
    help = "Deliver webhooks until stopped (SIGTERM or SIGINT: what is being sent is finished first)."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="End when nothing is due any more.")

    def run(self, **options: Any) -> dict[str, Any]:
        doctor.require_at_start()
        worker = Worker()
        before = {number: signal.signal(number, lambda *_: worker.stop()) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            return worker.run(once=options["once"])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
