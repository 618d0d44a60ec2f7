"""Test that the adapter on the page about vendors passes `check_vendor` against a vendor double over HTTP."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from credit.reports.checking import check_vendor
from tests.documents import page

LINES_MAX = 100
STATES = {"thick": "done", "thin": "done", "absent": "none", "frozen": "freeze", "slow": "working"}
AGENCY = {"name": "Example Bureau", "address": "1 Example Rd, Austin, TX 78701", "phone": "+1 800 555 0101"}
SCORED = {"score": 700, "factors": ["Few accounts"], "debts": 30_000}


class Bureau(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state = STATES[body["person"]["legal_name"].split()[-1]]
        report = {"state": state, "agency": AGENCY, "day": "2026-01-31", **(SCORED if state == "done" else {})}
        self.answer(self.server.reports.setdefault(self.path, report))

    def do_GET(self):
        self.answer(self.server.reports.get(self.path))

    def answer(self, report):
        text = json.dumps(report).encode()
        self.send_response(200 if report else 404)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments):
        """Write nothing."""


@pytest.fixture
def bureau(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bureau)
    server.reports = {}
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("EXAMPLE_BUREAU_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("EXAMPLE_BUREAU_KEY", "x")
    yield server
    server.shutdown()
    server.server_close()


def test_example_adapter_of_the_vendors_page_passes_check_vendor(bureau):
    [program] = re.findall(r"```python\n(.*?)```", page("develop/vendors.md"), re.DOTALL)
    assert len(program.splitlines()) <= LINES_MAX
    names = {}
    exec(program, names)
    lines = list(check_vendor(names["ExampleBureau"]()))
    assert [line for line in lines if line[1]] == []
    assert len(lines) >= 40
    assert len(bureau.reports) == 10
