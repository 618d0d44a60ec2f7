import logging
import signal
import threading
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connections
from django.utils import timezone

from config.core.databases import is_away, log_away
from config.core.json_text import render_json
from config.ops import checks

logger = logging.getLogger("platform.worker")

DAYS_MAX = 36_500  # larger numbers are typing errors, and can exceed the range of dates


def days(text: str) -> int:
    """Parse a number of days from 0 to DAYS_MAX, for the `type` of a command's argument."""
    if not (text.isascii() and text.isdigit()) or int(text) > DAYS_MAX:
        raise ArgumentTypeError(f"{text!r} is not a number of days from 0 to {DAYS_MAX}")
    return int(text)


@contextmanager
def stopping(stop: Callable[[], Any]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda *_caught: stop()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class JsonCommand(BaseCommand):
    """An idempotent command. With `--json`, the last line of its output is a JSON object.

    A subclass adds its arguments in `arguments`, and implements `run`, which returns the output. A ValidationError is
    displayed like a CommandError. If the output counts failed items under `fault_count`, the command also prints
    `fault`, and exits with status 1.
    """

    fault, fault_count = "", "failed"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="Print one JSON object on the last line."
        )
        self.arguments(parser)

    def arguments(self, parser: ArgumentParser) -> None:
        """Add the command's own arguments."""

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            result = self.run(**options)
        except ValidationError as refusal:
            raise CommandError("; ".join(refusal.messages)) from refusal
        if options["as_json"]:
            self.stdout.write(render_json(result).decode())
        else:
            for name, value in result.items():
                self.stdout.write(f"{name}: {value}")
        if self.fault and options.get("once", True) and result.get(self.fault_count):
            raise CommandError(self.fault.format(**result))

    def run(self, **options: Any) -> dict[str, Any]:
        raise NotImplementedError

    def note(self, line: str, *, fault: bool = False) -> None:
        """Write a line to stderr. On a terminal, a `fault` is red."""
        self.stderr.write(line, None if fault else str)


class WorkerCommand(JsonCommand):
    """A command that processes due items: once with `--once`, otherwise until SIGTERM or SIGINT.

    A subclass implements `work`. After a signal, the command finishes the current items. The command waits for an
    unavailable database. After any other error, the process ends, and the supervisor restarts it.
    """

    idle_seconds = 1.0  # the pause after a run without due items
    takes_a_part = False  # True if a call of `work` can leave due items for the next call
    no_progress: frozenset[str] = frozenset()  # names of counts that mean no progress
    _trouble_seconds = 5.0

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Process the due items, and exit.")

    def work(self, *, now: datetime) -> dict[str, int]:
        """Process the items that are due at `now`. Return counts by name, which are all 0 if no item was due."""
        raise NotImplementedError

    def run(self, **options: Any) -> dict[str, Any]:
        checks.require_at_start()
        if options["once"]:
            totals = Counter(self.work(now=timezone.now()))
            while self.takes_a_part and any((done := self.work(now=timezone.now())).values()):
                totals.update(done)
            return dict(totals)
        stopped = threading.Event()
        with stopping(stopped.set):
            return self._work_until(stopped)

    def _work_until(self, stopped: threading.Event) -> dict[str, int]:
        totals: Counter[str] = Counter()
        while not stopped.is_set():
            try:
                done = self.work(now=timezone.now())
                totals.update(done)
                moved = any(count for name, count in done.items() if name not in self.no_progress)
                pause = 0.0 if moved else self.idle_seconds
            except Error as error:
                if not is_away(error):
                    raise
                log_away(error)
                connections.close_all()
                pause = self._trouble_seconds
            stopped.wait(pause)
        return dict(totals)
