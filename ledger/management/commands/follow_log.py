import hashlib
import logging
import threading
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from config.core.leases import contain
from config.ops.commands import JsonCommand, stopping
from ledger.checkpoint import Checkpoint, NoteError, Verifier, encode_base64
from ledger.following import Follower, FollowError, ForkError

logger = logging.getLogger("platform.worker")

FORKED = 3  # only a fork has this exit status


class Command(JsonCommand):
    """Exit with 0 if every head extends the previous head, with 3 after a fork, or with 1 if the log is unavailable."""

    help = "Follow a log with C2SP tiles, until SIGTERM. Each head of the log must extend the previous head."
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="The prefix of the log's URLs. The checkpoint is at URL/checkpoint.")
        parser.add_argument("--key", required=True, help="The log's verifier key (name+id+base64).")
        parser.add_argument(
            "--state", type=Path, help="The file that stores the newest head. Default: a file in VAR_DIR."
        )
        parser.add_argument("--once", action="store_true", help="Check once, and exit.")
        parser.add_argument("--interval", type=int, default=60, metavar="SECONDS", help="The time between two checks.")

    def run(self, **options: Any) -> dict[str, Any]:
        try:
            verifier = Verifier.from_vkey(options["key"])
        except NoteError as error:
            raise CommandError(f"--key must be the verifier key of a log: {error}.") from error
        if options["interval"] < 1:
            raise CommandError("--interval must be a number of seconds of at least 1.")
        default = Path(settings.VAR_DIR) / f"follow-{hashlib.sha256(options['key'].encode()).hexdigest()[:16]}"
        follower = Follower(options["url"], verifier, options["state"] or default)
        if options["once"]:
            try:
                return _result(_follow_once(follower), follower)
            except FollowError as error:
                raise CommandError(str(error)) from error
        return self._tail(follower, options["interval"])

    def _tail(self, follower: Follower, interval_seconds: int) -> dict[str, Any]:
        stopped = threading.Event()
        head: Checkpoint | None = None
        follower.is_stopped = stopped.is_set
        with stopping(stopped.set):
            while not stopped.is_set():
                try:
                    before, head = head, _follow_once(follower)
                    if head != before:
                        self.note(f"{head.origin} has {head.size} entries, root {encode_base64(head.root)}")
                except FollowError as error:
                    if not stopped.is_set():
                        logger.warning("%s", error)
                except CommandError:
                    raise
                except Exception as error:  # noqa: BLE001  the loop must survive any response of a log
                    contain(error, "log", follower.url)
                stopped.wait(interval_seconds)
        return _result(head, follower)


def _follow_once(follower: Follower) -> Checkpoint:
    """Follow the log once. After a fork, store and print both checkpoints, and exit with FORKED."""
    try:
        return follower.follow()
    except ForkError as fork:
        name = hashlib.sha256(fork.evidence.encode()).hexdigest()[:16]
        file = follower.state.with_name(f"{follower.state.name}.fork-{name}")
        file.write_text(fork.evidence)
        raise CommandError(f"{fork} Evidence: {file}\n{fork.evidence}", returncode=FORKED) from fork


def _result(head: Checkpoint | None, follower: Follower) -> dict[str, Any]:
    figures = {"size": None, "root": None} if head is None else {"size": head.size, "root": head.root.hex()}
    return {**figures, "state": str(follower.state)}
