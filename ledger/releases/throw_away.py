"""A ledger for the length of a block: it shows how one works, and proves nothing to others."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from config.ops.supervisor import LOCAL, Processes, bind, manage, start, stop, wait_until_healthy

ORIGIN = "throw-away.invalid"
START_SECONDS = 120.0  # also while other work runs


class ThrowAway(NamedTuple):
    """Where it is, and the key with which it knows the platform."""

    url: str
    client_key: str


@contextmanager
def throw_away_ledger() -> Iterator[ThrowAway]:
    """Run one on free ports; raises CannotStart. Its database and keys are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="throw-away-ledger-") as folder:
        port = bind(LOCAL, 0)
        made = ThrowAway(f"http://{LOCAL}:{port}", secrets.token_urlsafe(32))
        environment = {
            "PATH": os.defpath, "VAR_DIR": folder, "CHAIN_URL": made.url, "LEDGER_ORIGIN": ORIGIN,
            "LEDGER_CLIENT_KEY": made.client_key,
        }  # fmt: skip
        manage(environment, "migrate", "-v0")
        gunicorn = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--bind", f"{LOCAL}:{port}", "--workers", "1"]
        running: Processes = {}
        try:
            running["The throw-away ledger"] = start([*gunicorn, "ledger.wsgi"], environment)
            wait_until_healthy(running, f"{made.url}/key", seconds=START_SECONDS)
            yield made
        finally:
            stop(running)
