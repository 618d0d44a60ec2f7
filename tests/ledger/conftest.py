"""Give each ledger test a log with a separate key and guard file."""

import json
from contextlib import contextmanager

import pytest
from django.test import Client

from ledger import triggers
from ledger.entries import Submission
from ledger.models import database
from ledger.proof_file import report_digest
from ledger.sealing import seal

SIGNING_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OTHER_SIGNING_KEY = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="


@pytest.fixture(autouse=True)
def own_log(settings, tmp_path):
    """Set a signing key, and a guard file that no other test uses."""
    settings.LEDGER_ORIGIN = "ledger.example/log"
    settings.LEDGER_SIGNING_KEY = SIGNING_KEY
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 67_108_864  # The settings with SERVICE=ledger have this value.
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"


class LedgerClient(Client):
    """Django's test client, with helpers for JSON and anchoring."""

    def post_json(self, path, document, **headers):
        return self.post(path, json.dumps(document), content_type="application/json", headers=headers)

    def anchor(self, data, *, user="42", kind="credit_report", **headers):
        body = {"user_id": user, "report_type": kind, "report_data": data}
        return self.post_json("/anchor", body, **headers)


@pytest.fixture
def client():
    """Return a client that returns a 500 response instead of raising, as a server would."""
    return LedgerClient(raise_request_exception=False)


def seal_reports(reports, *, user="42", kind="credit_report"):
    """Anchor texts in one block, without HTTP."""
    return seal(lambda: [Submission(report_digest(report), user, kind) for report in reports])


@contextmanager
def open_log():
    """Drop the triggers of the log's tables, for tests that tamper with the log; yield a cursor."""
    connection = database()
    with connection.cursor() as cursor:
        for statement in triggers.drop_statements(connection.vendor):
            cursor.execute(statement)
        try:
            yield cursor
        finally:
            for statement in triggers.create_statements(connection.vendor):
                cursor.execute(statement, None)


@pytest.fixture
def committed_log(committed):
    """Commit the log's changes for tests with threads, and empty it afterwards."""


def assert_error(response, status, code):
    """Check that the response has the complete error body of specification section 7."""
    body = response.json()
    assert (response.status_code, body["code"]) == (status, code), body
    assert set(body) >= {"error", "message", "code", "request_id"}
    assert body["request_id"] == response.headers["X-Request-Id"]
