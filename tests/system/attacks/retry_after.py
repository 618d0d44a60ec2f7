"""Answer webhooks with hostile `Retry-After` headers: are other accounts' events delivered, exactly once?

`python -m tests.system.attacks.retry_after`
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests import processes
from tests.processes import ROOT
from tests.system.server import environment_of, manage
from tests.webhooks.receiver import Receiver

SECONDS, RESTART_SECONDS = 60, 0.5
VICTIMS, EVENTS = 4, 10  # events of each
HOSTILE = (
    "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
    "Wed, 21 Oct 2026 99999999999999999999:28:00 GMT",
    "Wed, 21 Oct 2026 07:28:00 +" + "9" * 20,
    "9" * 5_000,
    "-99999999999999999999",
    "NaN",
    "",
    "\xff\xfe\xb2",  # as Latin-1: the bytes are not UTF-8
    "Sat, 01 Jan 0000 00:00:00 GMT",
    "Sat, 01 Jan 10000 00:00:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 -2359",
    "Mon, 01 Jan 0001 00:00:00 +2359",
    "Wed, 21 Oct 2026 07:28:00 " + "(" * 15_000,
    "1\r\nRetry-After: 1e999\r\nRetry-After: 2",
)
SEED = """
import json
from django.contrib.auth import get_user_model
from django.utils import timezone
from config.webhooks.endpoints import create_endpoint
from config.webhooks.events import record_event
for name, url, count in json.loads({seed!r}):
    account, now = get_user_model().objects.create(username=name).pk, timezone.now()
    create_endpoint(account_id=account, url=url, event_types=["*"], description="", now=now)
    for number in range(count):
        record_event("wallet.connected", account_id=account, now=now, wallet_id=f"wallet-{{number}}")
"""
STATUSES = """
import json
from config.webhooks.models import Delivery
print(json.dumps(list(Delivery.objects.values_list("account__username", "status"))))
"""


def attack(database: str, folder: str, receiver: Receiver, hostile: list[Receiver]) -> int:
    """Deliver what waits with a worker that is started again when it ends; return how often it ended.

    The attackers' events come first.
    """
    environment = environment_of(database, folder, WEBHOOK_ALLOW_PRIVATE="1", WEBHOOK_LEASE_SECONDS="4")
    seed = [[f"attacker{number}", other.url, 1] for number, other in enumerate(hostile)]
    seed += [[f"victim{number}", receiver.url, EVENTS] for number in range(VICTIMS)]
    processes.manage(environment, "shell", "-v", "0", "-c", SEED.format(seed=json.dumps(seed)))
    command, ended = [sys.executable, "manage.py", "deliver_webhooks"], 0
    ends_at = time.monotonic() + SECONDS
    with Path(folder, "log").open("wb") as log:
        worker = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=log, stderr=log)
        try:
            while time.monotonic() < ends_at and not all(other.received for other in hostile):
                time.sleep(RESTART_SECONDS)
                if worker.poll() is not None:
                    ended += 1
                    worker = subprocess.Popen(
                        command, cwd=ROOT, env={**os.environ, **environment}, stdout=log, stderr=log
                    )
            time.sleep(10)  # two leases, and the retry after 5 s
            ended += worker.poll() is not None
        finally:
            worker.terminate()
            worker.wait()
    return ended


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as servers:
        database = f"sqlite:///{folder}/db.sqlite3"
        manage(database, folder, "migrate", "--verbosity", "0")
        receiver = servers.enter_context(Receiver())
        answers = [[(429, {"Retry-After": value}, b"")] * 100 for value in HOSTILE]
        hostile = [servers.enter_context(Receiver(answers=answer)) for answer in answers]
        ended = attack(database, folder, receiver, hostile)
        rows = json.loads(manage(database, folder, "shell", "-v", "0", "-c", STATUSES))
    statuses = Counter(status for account, status in rows if account.startswith("victim"))
    events, sent = VICTIMS * EVENTS, Counter(receiver.ids)
    answered = sum(bool(other.received) for other in hostile)
    print(f"{answered} of {len(HOSTILE)} hostile receivers answered; the worker ended {ended} times")
    print(f"{events} events of others: {dict(statuses)}, sent {sum(sent.values())} times")
    assert (dict(statuses), len(sent), sum(sent.values()), ended) == ({"delivered": events}, events, events, 0)
    assert answered == len(HOSTILE)


if __name__ == "__main__":
    main()
