"""`manage.py listen` prints and forwards the events of an account."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests.processes import PATIENCE_SECONDS, ROOT, manage
from tests.webhooks.receiver import Receiver


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_listen_command_prints_and_forwards_events_until_a_stop_signal(migrated, tmp_path, number):
    environment = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path)}
    shutil.copyfile(migrated, tmp_path / "platform.sqlite3")
    manage(environment, "create_user", "ada", "--password", "a walker walks far", "--json")
    with Receiver() as receiver:
        command = [sys.executable, "manage.py", "listen", "--account", "ada", "--after", "0"]
        command += ["--forward-to", receiver.url]
        listening = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert listening.stdout.readline().startswith("Signed with whsec_")
            manage(environment, "create_api_key", "ada", "--name", "Try", "--json")
            line = listening.stdout.readline()
            assert " api_key.created " in line
            assert line.endswith(" -> 200\n")
            listening.send_signal(number)
            rest, _ = listening.communicate(timeout=PATIENCE_SECONDS)
        finally:
            listening.kill()
            listening.wait()
    assert listening.returncode == 0
    assert "events: 1" in rest
    assert len(receiver.received) == 1
