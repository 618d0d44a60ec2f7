"""Both OpenAPI documents hold, whatever is sent: generated requests to real servers, the same ones at every run.

`make bench ARGS="--only fuzz"` sends 10,000 with a seed of chance. FUZZ_SEED and FUZZ_EXAMPLES change those of here.
"""

import json
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import connection

pytest.importorskip("schemathesis", reason="needs schemathesis: make test installs it")

from tests.fuzz import campaign, services
from tests.payments.test_card_storm import server
from tests.processes import temporary_database

pytestmark = pytest.mark.timeout(600)
SEED = int(os.environ.get("FUZZ_SEED", "20261121"))
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "6"))
# What no generated request can succeed with, beside what it can always be refused for.
OUT_OF_REACH = {
    "GET /v1/applications/{application_id}/proof",  # a worker anchors decisions, and none runs
    "GET /v1/applications/{application_id}/score",  # an application to an offer whose model has a champion
    "GET /v1/applications/{application_id}/decision-bundle",  # an application that is decided
    "POST /v1/applications/{application_id}/acceptance",  # the hash of the terms that were approved
    "GET /v1/provider-offers/{offer_id}/quote",  # an amount, a term and a rate that the offer lends
    "DELETE /v1/providers/{provider_id}/members/{user_id}",  # somebody who was made a member before
    "POST /v1/sandbox/bank-items/{item_id}/require-login",  # a bank's item, and staged ones have the same name
    "POST /v1/sandbox/verifications/{verification_id}/outcome",  # an open one, and each that begins ends the last
    "POST /v1/kyc/provider-events",  # signed by the provider
    "POST /v1/payments/processor-events",  # signed by the processor
    "POST /v1/applications/{application_id}/documents/{document_id}/files",  # a PDF or a picture
    "POST /v1/staging/items",  # what a payload must hold depends on its kind
    "POST /v1/oauth/token",  # a code is given to a person at a page
    "POST /v1/oauth/revoke",  # a client's secret
    "POST /v1/auth/keys/{key_id}/collect",  # a key that somebody at the back office has rotated
    "DELETE /v1/applications/{application_id}/pending-decision",  # two reviewers decide under another policy only
}


@pytest.fixture(scope="module")
def database(request, tmp_path_factory):
    """The address of a migrated database that is nobody else's, of the kind that the tests run on."""
    if connection.vendor == "sqlite":
        file = tmp_path_factory.mktemp("fuzz") / "fuzz.sqlite3"
        shutil.copyfile(request.getfixturevalue("migrated"), file)
        yield f"sqlite:///{file}"
        return
    template = request.getfixturevalue("template")
    with temporary_database(server(), f"fuzz_{os.getpid()}", template=template) as address:
        yield address


@pytest.mark.usefixtures("django_db_setup")
def test_every_answer_is_one_that_the_documents_describe(database, tmp_path):
    with services.serve(database, tmp_path) as serving:
        found = campaign.run(serving, seed=SEED, examples=EXAMPLES)
    print(found.figures())
    assert not found.faults, found.examples()
    assert found.cases > 3_000
    assert found.never_succeeded() <= OUT_OF_REACH


class Wrong(BaseHTTPRequestHandler):
    """A service that answers each of its three operations otherwise than its document says."""

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
        """Say nothing."""


INTEGER = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
OK = {"200": {"description": "Fine.", "content": {"application/json": {"schema": INTEGER}}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Wrong", "version": "1"},
    "paths": {path: {"get": {"responses": OK}} for path in Wrong.answers},
}


def test_a_campaign_sees_a_crash_and_an_unknown_status_and_a_wrong_shape():
    with ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{httpd.server_port}"
        found = campaign.Findings()
        campaign.Round(f"{base}/openapi.json", base, {}, {}, SEED, 1, ("fuzzing",)).run(found)
        httpd.shutdown()
    figures = found.figures()
    assert figures["cases"] >= 3
    assert figures["server errors"] == 1
    assert figures["undocumented statuses"] >= 2
    assert figures["answers outside their schema"] >= 1
    assert found.never_succeeded() == {"GET /crash", "GET /teapot"}
