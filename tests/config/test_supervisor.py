"""Test that `make run` restarts an ended process after increasing waits, and does not affect other processes."""

import sys

import pytest

from config.ops import supervisor
from config.ops.supervisor import Restarts, start, stop
from tests.processes import wait_until

STEADY = ([sys.executable, "-c", "import time; time.sleep(600)"], {})
ENDING = ([sys.executable, "-c", "raise SystemExit(3)"], {})


@pytest.fixture
def running(monkeypatch):
    """Run a process that stays and one that ends immediately; end both after the test."""
    monkeypatch.setattr(supervisor, "FIRST_WAIT", 0.1)
    monkeypatch.setattr(supervisor, "LONGEST_WAIT", 0.4)
    running = {name: start(*command) for name, command in COMMANDS.items()}
    yield running
    stop(running)


COMMANDS = {"steady": STEADY, "ending": ENDING}


def ended(running):
    wait_until(lambda: running["ending"].poll() is not None)


def restarted(restarts, running):
    """Poll until the ended process has been replaced."""
    before = running["ending"]
    wait_until(lambda: restarts.look() or running["ending"] is not before)


def test_repeatedly_exiting_process_is_restarted_after_longer_waits(running, capsys, monkeypatch):
    steady, restarts = running["steady"], Restarts(running, COMMANDS)
    for _ in range(4):
        ended(running)
        restarted(restarts, running)
    lines = capsys.readouterr().out.splitlines()
    waits = [float(line.split()[-2]) for line in lines if "It starts again in" in line]
    assert waits == [0.1, 0.2, 0.4, 0.4]
    assert lines[0] == "ending has ended with status 3; see its output above. It starts again in 0.1 s."
    assert lines.count("ending was started again.") == 4
    assert running["steady"] is steady
    assert steady.poll() is None
    monkeypatch.setattr(supervisor, "STEADY_SECONDS", 0.0)
    ended(running)
    restarted(restarts, running)
    assert "It starts again in 0.1 s." in capsys.readouterr().out, "after a long run, the shortest wait"


@pytest.mark.parametrize(("has_data", "name"), [(False, "127.0.0.1:9001"), (True, "127.0.0.1:8001")])
def test_make_run_on_another_port_retains_the_origin_of_the_ledger_log(monkeypatch, tmp_path, has_data, name):
    monkeypatch.setattr(supervisor, "var_dir", lambda: tmp_path)
    if has_data:  # An earlier version, which named the log by the default port, wrote this file.
        (tmp_path / "platform.sqlite3").touch()
    assert [supervisor._origin_of_log("127.0.0.1", port) for port in (9001, 9005)] == [name, name]
