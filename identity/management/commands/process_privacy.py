from datetime import datetime

from config.ops.commands import WorkerCommand
from identity.accounts.erasure import process_requested


class Command(WorkerCommand):
    help = "Erase accounts whose erasure is due, until SIGTERM, or --once."
    idle_seconds = 30.0
    no_progress = frozenset({"failed"})
    fault = "{failed} erasures failed; they are tried again later."

    def work(self, *, now: datetime) -> dict[str, int]:
        return process_requested(now=now)
