"""`manage.py doctor` in a separate process."""

import json
import os
import shutil
import subprocess
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tests.config.test_environments import SERVED
from tests.processes import manage, run_python


def test_doctor_creates_no_file(migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "platform.sqlite3")
    environment = {"VAR_DIR": str(tmp_path)}
    manage(environment, "check")  # in development, the first command creates the secrets

    def files():
        return {file.relative_to(tmp_path) for file in tmp_path.rglob("*")}

    before = files()
    printed = json.loads(manage(environment, "doctor", "--json"))
    assert printed["ok"], printed
    assert files() == before


def test_doctor_of_the_ledger_checks_its_static_files_and_does_not_check_mail(migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "own.sqlite3")
    environment = SERVED | {
        "ENVIRONMENT": "production", "SERVICE": "ledger", "VAR_DIR": str(tmp_path), "ALLOW_SANDBOX": "1",
        "DATABASE_URL": f"sqlite:///{tmp_path}/own.sqlite3",
    }  # fmt: skip
    done = run_python(environment, "manage.py", "doctor", "--json")
    checked = {check["name"]: check for check in json.loads(done.stdout.splitlines()[-1])["checks"]}
    assert "SERVICE=ledger" in checked["static_files"]["why"]
    assert "mail" not in checked


@pytest.mark.parametrize(
    ("options", "fault"),
    [("--encoding=LATIN1 --locale=C", "encoding LATIN1"), ("--encoding=UTF8 --locale=C", "collation")],
)
def test_doctor_at_start_rejects_a_database_with_a_wrong_encoding_or_collation(tmp_path, options, fault):
    server = os.environ.get("DATABASE_URL") or os.environ.get("TEST_DATABASE_URL", "")
    if not server.startswith("postgres"):
        pytest.skip("needs PostgreSQL: set DATABASE_URL, or TEST_DATABASE_URL for make")
    name = f"encoding_{uuid4().hex[:8]}"
    maintenance = urlsplit(server)._replace(path="/postgres").geturl()
    subprocess.run(
        ["createdb", *options.split(), "--template=template0", f"--maintenance-db={maintenance}", name], check=True
    )
    try:
        environment = {"VAR_DIR": str(tmp_path), "DATABASE_URL": urlsplit(server)._replace(path=f"/{name}").geturl()}
        with pytest.raises(RuntimeError, match=fault):
            manage(environment, "doctor", "--at-start")
    finally:
        subprocess.run(["dropdb", f"--maintenance-db={maintenance}", name], check=True)
