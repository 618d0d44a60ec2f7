"""SIGKILL of the process group under load, twenty times: what was acknowledged is there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from ledger.models import database
from tests.ledger.conftest import SIGNING_KEY
from tests.processes import temporary_database

ROUNDS = 20


@pytest.fixture
def empty_database(needs_postgresql):
    """Address of a database of its own, dropped afterwards."""
    given = database().settings_dict
    credentials = quote(given["USER"] or "", safe="")
    if given["PASSWORD"]:
        credentials += f":{quote(given['PASSWORD'], safe='')}"
    address = f"postgres://{credentials}@{given['HOST'] or 'localhost'}:{given['PORT'] or 5432}"
    with temporary_database(address, f"ledger_storm_{os.getpid()}") as made:
        yield made


def test_nothing_acknowledged_is_lost_when_the_whole_group_is_killed_twenty_times(empty_database, tmp_path):
    environment = {
        **os.environ,
        "DATABASE_URL": empty_database,
        "LEDGER_DATABASE_URL": "",
        "VAR_DIR": str(tmp_path),
        "LEDGER_ORIGIN": "ledger.example/storm",
        "LEDGER_SIGNING_KEY": SIGNING_KEY,
        "LEDGER_GUARD_FILE": str(tmp_path / "guard"),
    }
    script = Path(__file__).with_name("storm.py")
    run = subprocess.run(
        [sys.executable, str(script), str(ROUNDS)],
        env=environment,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    outcome = json.loads(run.stdout.splitlines()[-1])
    assert outcome["rounds"] == ROUNDS
    assert outcome["acknowledged"] > ROUNDS
    assert outcome["checkpoints"] > ROUNDS
    assert (outcome["missing"], outcome["inconsistent"]) == (0, 0)
    assert outcome["entries"] >= outcome["acknowledged"]
