"""Start workers quickly on request: `python -m tests.webhooks.nursery`.

All modules are imported once. Each line on standard input forks a worker and prints its process id. The end of standard
input ends the nursery and its workers.
"""

# ruff: noqa: E402  Django must be set up before its modules are imported.

import os
import signal
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.db import connections

from config.webhooks.worker import Worker


def work() -> None:
    """Run a worker until SIGTERM."""
    worker = Worker()
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    try:
        worker.run()
    finally:
        os._exit(0)


def main() -> None:
    """Fork a worker for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The kernel reaps finished workers.
    created = []
    for _line in sys.stdin:
        connections.close_all()
        child = os.fork()
        if not child:
            work()
        created.append(child)
        print(child, flush=True)
    for child in created:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
