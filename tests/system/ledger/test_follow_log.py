"""`manage.py follow_log` follows a log, and stops at SIGTERM."""

import contextlib
import os
import signal
import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import call_command

from tests.dripping import dripping
from tests.ledger.conftest import seal_reports
from tests.ledger.test_follow_log import TiledLog, published  # noqa: F401  fixtures
from tests.ledger.witnesses import LOG, leaves_of, serving
from tests.processes import PATIENCE_SECONDS, ROOT


@pytest.mark.urls("ledger.urls")
def test_follow_log_command_follows_a_growing_ledger(committed, live_server, tmp_path, settings):
    arguments = ["follow_log", live_server.url, "--key", LOG.verifier.vkey, "--once", "--state", str(tmp_path / "own")]
    for size in (3, 260, 40):
        seal_reports([f"report {size} {number}" for number in range(size)])
        call_command(*arguments, stdout=StringIO())
    assert "\n303\n" in (tmp_path / "own").read_text()


@contextlib.contextmanager
def following(tmp_path, *command):
    """Run a Python program until the block ends; yield its process."""
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path)},
        stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.stderr.close()
        process.wait()


def test_follow_log_command_runs_until_sigterm(published, tmp_path):
    with serving(published) as [address]:
        options = ("--key", LOG.verifier.vkey, "--state", str(tmp_path / "head"), "--interval", "1")
        with following(tmp_path, "manage.py", "follow_log", address + "/deep/prefix", *options) as process:
            assert "has 5 entries" in process.stderr.readline()
            published.grow(leaves_of(9))
            assert "has 9 entries" in process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0


def test_follow_log_command_stops_at_sigterm_while_waiting_for_a_response(tmp_path):
    with (
        dripping() as address,
        following(tmp_path, "-c", _FOLLOW_PATIENTLY, address, LOG.verifier.vkey, str(tmp_path / "head")) as process,
    ):
        assert process.stderr.readline() == "started\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr.read() == ""


# The timeout of an hour is longer than the test, so that only the signal ends the program.
_FOLLOW_PATIENTLY = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from django.core.management import call_command
from ledger import following
following.FETCH_SECONDS = 3600.0
fetch = following.exchange
def begin(*arguments, **options):
    print("started", file=sys.stderr, flush=True)
    return fetch(*arguments, **options)
following.exchange = begin
call_command("follow_log", sys.argv[1], "--key", sys.argv[2], "--state", sys.argv[3])
"""
