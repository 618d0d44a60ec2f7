from datetime import datetime

from config.ops.commands import WorkerCommand
from identity.accounts.erasure import process_requested
from identity.accounts.exports import process_exports


class Command(WorkerCommand):
    help = "Create requested exports, and erase accounts whose erasure is due, until SIGTERM or with --once."
    idle_seconds = 30.0
    no_progress = frozenset({"failed"})
    fault = "{failed} exports or erasures failed; they are tried again later."

    def work(self, *, now: datetime) -> dict[str, int]:
        exports, erasures = process_exports(now=now), process_requested(now=now)
        return exports | erasures | {"failed": exports["failed"] + erasures["failed"]}
