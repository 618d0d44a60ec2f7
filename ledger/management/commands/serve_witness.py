import socket
import sqlite3
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from gunicorn.app.base import BaseApplication

from config.ops.commands import JsonCommand
from ledger import keys
from ledger.checkpoint import NoteError, Verifier
from ledger.witness import HeadStore, Witness, read_logs

_THREADS = 8
# As in config/gunicorn.py, which serves the platform and would ask for its settings; the reasons stand there.
_OPTIONS = {
    "worker_class": "gthread", "workers": 1, "threads": _THREADS, "timeout": 60, "graceful_timeout": 5, "keepalive": 75,
    "control_socket_disable": True, "http_parser": "python", "forwarder_headers": "", "accesslog": None,
    "loglevel": "error", "proc_name": "serve_witness",
}  # fmt: skip


class Command(JsonCommand):
    """Serve `POST /add-checkpoint` (C2SP tlog-witness) until SIGTERM or SIGINT.

    It needs none of the platform's secrets and no database but its own file. Without --logs it witnesses the log of
    this machine, which shows how it works and proves nothing to others.
    """

    help = "Be a witness: cosign the checkpoints of the logs that it is given the keys of, as long as they only grow."
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.WITNESS_HOST)
        parser.add_argument("--port", type=int, default=settings.WITNESS_PORT)
        parser.add_argument("--name", default=settings.WITNESS_NAME, help="Of the witness: host and path, no scheme.")
        parser.add_argument(
            "--key", default=settings.WITNESS_SIGNING_KEY, help="32 bytes in base64; better in WITNESS_SIGNING_KEY."
        )
        parser.add_argument("--database", type=Path, default=Path(settings.WITNESS_DATABASE), help="A SQLite file.")
        parser.add_argument("--logs", default=settings.WITNESS_LOGS, help="A file of verifier keys, one a line.")
        parser.add_argument("--write-policy", type=Path, metavar="FILE", help="Write a policy that asks it; then end.")

    def handle(self, *args: Any, **options: Any) -> None:
        self._cosigner = keys.cosigner(options["name"], options["key"])
        self._logs = _logs(options["logs"])
        host = f"[{options['host']}]" if ":" in options["host"] else options["host"]
        self._bind = f"{host}:{options['port']}"
        super().handle(*args, **options)
        if options["write_policy"]:
            self._write_policy(options["write_policy"])
            return
        self.stdout.flush()
        try:
            witness = Witness(self._cosigner, self._logs, HeadStore(options["database"]))
        except sqlite3.Error as error:
            raise CommandError(f"{options['database']} cannot be used as a SQLite file ({error}).") from error
        _check_free(options["host"], options["port"])
        _Server(witness, {**_OPTIONS, "bind": self._bind}).run()

    def run(self, **_options: Any) -> dict[str, Any]:
        return {
            "vkey": self._cosigner.verifier.vkey,
            "address": f"http://{self._bind}",
            "logs": [log.vkey for log in self._logs],
        }

    def _write_policy(self, path: Path) -> None:
        lines = [f"log {log.vkey}" for log in self._logs]
        lines += [f"witness own {self._cosigner.verifier.vkey} http://{self._bind}", "quorum own", ""]
        path.write_text("\n".join(lines))


def _logs(file: str) -> list[Verifier]:
    """The logs to witness; ImproperlyConfigured, in a sentence, when the file does not hold them."""
    if not file:
        if settings.PRODUCTION:
            raise ImproperlyConfigured("WITNESS_LOGS is missing: set it to a file of verifier keys, one a line.")
        return [keys.signer().verifier]
    try:
        logs = read_logs(Path(file).read_text())
    except (OSError, UnicodeDecodeError, NoteError) as error:
        raise ImproperlyConfigured(f"WITNESS_LOGS={file!r} is no file of verifier keys: {error}.") from error
    if not logs:
        raise ImproperlyConfigured(f"WITNESS_LOGS={file!r} names no log.")
    return logs


def _check_free(host: str, port: int) -> None:
    """Raise CommandError, in a sentence, when nothing can listen there: gunicorn would try again and again."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        raise CommandError(f"Cannot listen on {host}:{port} ({error}). Set WITNESS_PORT or WITNESS_HOST.") from error


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn ships without types
    """gunicorn around one witness, set up here instead of in a file."""

    def __init__(self, witness: Witness, options: dict[str, Any]) -> None:
        self._witness, self._options = witness, options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Callable[..., Any]:
        return self._witness
