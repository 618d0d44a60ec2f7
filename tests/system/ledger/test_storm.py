"""Repeated kills of a ledger's process group under load; STORM_ROUNDS sets the number of kills."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.databases import own_database_url
from tests.ledger.conftest import SIGNING_KEY
from tests.processes import temporary_database

ROUNDS = int(os.environ.get("STORM_ROUNDS", "4"))


@pytest.mark.usefixtures("needs_postgresql")
def test_ledger_loses_no_acknowledged_entry_if_its_processes_are_killed(tmp_path):
    with temporary_database(own_database_url(), f"ledger_storm_{os.getpid()}") as address:
        outcome = run_storm(address, tmp_path)
    assert outcome["rounds"] == ROUNDS
    assert outcome["acknowledged"] > ROUNDS
    assert outcome["checkpoints"] >= ROUNDS
    assert (outcome["missing"], outcome["inconsistent"]) == (0, 0)
    assert outcome["entries"] >= outcome["acknowledged"]


def run_storm(address, tmp_path):
    """Run storm.py with an empty database; return its result."""
    environment = {
        **os.environ,
        "DATABASE_URL": address,
        "LEDGER_DATABASE_URL": "",
        "VAR_DIR": str(tmp_path),
        "LEDGER_ORIGIN": "ledger.example/storm",
        "LEDGER_SIGNING_KEY": SIGNING_KEY,
        "LEDGER_GUARD_FILE": str(tmp_path / "guard"),
    }
    command = [sys.executable, str(Path(__file__).with_name("storm.py")), str(ROUNDS)]
    run = subprocess.run(command, env=environment, capture_output=True, check=False, text=True, timeout=290)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])
