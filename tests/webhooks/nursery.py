"""Makes workers on request, quickly: `python -m tests.webhooks.nursery`.

Everything is imported once; each line on standard input makes one more worker, by a fork, whose process id is printed.
Standard input's end ends the nursery, and with it what it still has.
"""

# ruff: noqa: E402  Django must be set up before its parts are imported.

import os
import signal
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.db import connections

from config.webhooks.worker import Worker


def work() -> None:
    """Be a worker until SIGTERM."""
    worker = Worker()
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    try:
        worker.run()
    finally:
        os._exit(0)


def main() -> None:
    """Fork a worker for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    made = []
    for _line in sys.stdin:
        connections.close_all()
        child = os.fork()
        if not child:
            work()
        made.append(child)
        print(child, flush=True)
    for child in made:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
