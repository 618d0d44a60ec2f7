"""The end of the withdrawal period, with a system clock that libfaketime sets."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.processes import run_python

LIBRARY = next(map(str, Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), "")
AGREEMENTS = int(os.environ.get("CLOCKS", "15"))


@pytest.mark.skipif(not LIBRARY, reason="needs libfaketime")
@pytest.mark.timeout(600)
def test_a_contract_withdrawal_is_accepted_until_the_last_second_of_its_period(migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "clock.sqlite3")
    clock = tmp_path / "clock"
    clock.write_text("2026-11-20 12:00:00")
    environment = {
        "LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TZ": "UTC", "DJANGO_SETTINGS_MODULE": "config.settings", "DEBUG": "1",
        "DATABASE_URL": f"sqlite:///{tmp_path}/clock.sqlite3", "VAR_DIR": str(tmp_path),
    }  # fmt: skip
    done = run_python(environment, "-m", "tests.system.credit.declaring", str(AGREEMENTS))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"agreements": AGREEMENTS, "wrong": []}
