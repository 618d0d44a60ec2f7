from datetime import datetime

from config.mail.delivery import deliver_some
from config.ops.commands import WorkerCommand


class Command(WorkerCommand):
    help = "Send mail until SIGTERM or SIGINT. The command first finishes the mail that it is sending."
    takes_a_part = True

    def work(self, *, now: datetime) -> dict[str, int]:
        return deliver_some(now=now)
