"""The log of requests under gunicorn: whatever a worker answered is written before it ends, however it was started."""

import json
import shutil
import sqlite3

import pytest

from tests.system.server import exchange, gunicorn, manage, request, status_of

CALLS = 7


@pytest.mark.parametrize("arguments", ["", "--preload", "--max-requests 3 --max-requests-jitter 0"])
def test_a_worker_that_ends_writes_what_waits(migrated, tmp_path, arguments):
    file = tmp_path / "platform.sqlite3"
    shutil.copyfile(migrated, file)
    url = f"sqlite:///{file}"
    manage(url, tmp_path, "create_user", "ada", "--password", "a walker walks far", "--json")
    key = json.loads(manage(url, tmp_path, "create_api_key", "ada", "--name", "n", "--json"))["key"]
    with gunicorn(url, tmp_path, GUNICORN_CMD_ARGS=arguments) as port:
        for _ in range(CALLS):
            assert status_of(exchange(port, request("GET", "/v1/applications", b"", f"X-API-Key: {key}"))) == 200
    with sqlite3.connect(file) as database:
        lines = database.execute("SELECT method, route, status, code FROM ops_requestline").fetchall()
    assert lines == [("GET", "/v1/applications", 200, "")] * CALLS
