"""The responses of real servers to generated requests match the OpenAPI documents.

The requests are the same in every run. FUZZ_SEED and FUZZ_EXAMPLES change them.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("schemathesis", reason="needs schemathesis: make test-all installs it")

from tests.databases import own_database_url
from tests.processes import temporary_database
from tests.system.fuzz import campaign, services

pytestmark = pytest.mark.timeout(1_800)
SEED = int(os.environ.get("FUZZ_SEED", "20261121"))
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "1"))


@pytest.mark.usefixtures("needs_postgresql", "django_db_setup")
def test_responses_to_generated_requests_match_the_openapi_documents(template, tmp_path):
    with (
        temporary_database(own_database_url(), f"fuzz_{os.getpid()}", template=template) as address,
        services.serve(address, tmp_path) as serving,
    ):
        report = campaign.run(serving, seed=SEED, examples=EXAMPLES)
    print(report.figures())
    assert not report.faults, report.examples()
    assert report.cases > 1_000


class Wrong(BaseHTTPRequestHandler):
    """A service whose three operations violate its OpenAPI document."""

    answers = {"/crash": (500, {}), "/teapot": (418, {}), "/shape": (200, {"a": "text"})}

    def do_GET(self):
        status, body = self.answers.get(self.path, (200, DOCUMENT))
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments):
        """Print nothing."""


INTEGER = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
OK = {"200": {"description": "Fine.", "content": {"application/json": {"schema": INTEGER}}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Wrong", "version": "1"},
    "paths": {path: {"get": {"responses": OK}} for path in Wrong.answers},
}


def test_fuzz_test_detects_a_crash_an_undocumented_status_and_an_invalid_body():
    with ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{httpd.server_port}"
        findings = campaign.Findings()
        campaign.Round(f"{base}/openapi.json", base, {}, {}, SEED, 1, ("fuzzing",)).run(findings)
        httpd.shutdown()
    figures = findings.figures()
    assert figures["cases"] >= 3
    assert figures["server errors"] == 1
    assert figures["undocumented statuses"] >= 2
    assert figures["responses outside their schema"] >= 1
