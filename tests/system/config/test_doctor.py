"""`manage.py doctor` as a process of its own."""

import json
import shutil

from tests.processes import manage


def test_it_makes_nothing(migrated, tmp_path):
    shutil.copyfile(migrated, tmp_path / "platform.sqlite3")
    environment = {"VAR_DIR": str(tmp_path)}
    manage(environment, "check")  # in development any first command makes the secrets

    def files():
        return {file.relative_to(tmp_path) for file in tmp_path.rglob("*")}

    before = files()
    printed = json.loads(manage(environment, "doctor", "--json"))
    assert printed["ok"], printed
    assert files() == before
