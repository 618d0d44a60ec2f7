"""The request log under gunicorn with different start options."""

import sqlite3

import pytest

from tests.system.server import exchange, gunicorn, request, status_of

CALLS = 7


@pytest.mark.parametrize("arguments", ["--preload", "--max-requests 3 --max-requests-jitter 0"])
def test_server_process_stores_its_pending_request_log_lines_when_it_stops(new_server, key, arguments):
    with gunicorn(*new_server, GUNICORN_CMD_ARGS=arguments) as port:
        for _ in range(CALLS):
            assert status_of(exchange(port, request("GET", "/v1/applications", b"", f"X-API-Key: {key['key']}"))) == 200
    with sqlite3.connect(new_server[1] / "own.sqlite3") as database:
        lines = database.execute("SELECT method, route, status, code FROM ops_requestline").fetchall()
    assert lines == [("GET", "/v1/applications", 200, "")] * CALLS
