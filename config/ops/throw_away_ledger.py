"""A ledger with a witness for the length of a block: it shows how one works, and proves nothing to others."""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from config.ops.supervisor import BASE_DIR, LOCAL, CannotStart, answers, bind, manage

ORIGIN = "throw-away.invalid"
START_SECONDS = 120.0


class ThrowAway(NamedTuple):
    """Where it is, the key with which it knows the platform, and the policy by which its proofs are judged."""

    url: str
    client_key: str
    policy: Path


@contextmanager
def throw_away_ledger() -> Iterator[ThrowAway]:
    """Run one on free ports; raises CannotStart. Its database and keys are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="throw-away-ledger-") as folder:
        port, witness_port = bind(LOCAL, 0), bind(LOCAL, 0)
        made = ThrowAway(f"http://{LOCAL}:{port}", secrets.token_urlsafe(32), Path(folder, "policy"))
        environment = {
            "PATH": os.defpath, "VAR_DIR": folder, "CHAIN_URL": made.url, "LEDGER_ORIGIN": ORIGIN,
            "LEDGER_CLIENT_KEY": made.client_key, "WITNESS_HOST": LOCAL, "WITNESS_PORT": str(witness_port),
            "WITNESS_POLICY": str(made.policy),
        }  # fmt: skip
        manage(environment, "migrate", "-v0")
        manage(environment, "serve_witness", "--write-policy", str(made.policy))
        gunicorn = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--bind", f"{LOCAL}:{port}", "--workers", "1"]
        commands = [[*gunicorn, "ledger.wsgi"], ["manage.py", "serve_witness"], ["manage.py", "ask_witnesses"]]
        running = [
            subprocess.Popen(  # noqa: S603
                [sys.executable, *command], cwd=BASE_DIR, env=environment, stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            for command in commands
        ]  # fmt: skip
        try:
            _wait(f"{made.url}/key", running)
            yield made
        finally:
            for process in running:
                os.killpg(process.pid, signal.SIGTERM)
            for process in running:
                process.wait()


def _wait(address: str, running: "list[subprocess.Popen[bytes]]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers(address):
        if time.monotonic() > deadline or any(process.poll() is not None for process in running):
            raise CannotStart("The throw-away ledger does not start; what it says stands above.")
        time.sleep(0.1)
