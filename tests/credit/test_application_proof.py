"""`GET /applications/{id}/proof` and `anchor_decisions`: decisions in a real ledger, over HTTP, checked by others."""

import json
import logging
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings

from config.core.context import RequestIdFilter
from credit.models import DecisionAnchor
from ledger.keys import signer
from tests.api import assert_error
from tests.authority import private_server
from tests.factories import ApplicationFactory
from tests.ledger import foreign
from tests.ledger.conftest import SIGNING_KEY


@pytest.fixture
def ledger(live_server, settings, tmp_path):
    """Service B in this process, under its own address."""
    settings.LEDGER_ORIGIN = "ledger.example/log"
    settings.LEDGER_SIGNING_KEY = SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    with override_settings(ROOT_URLCONF="ledger.urls"):
        yield live_server.url


@pytest.fixture
def decided(committed, settings, ledger, user, api):
    """An application that was approved, and is not in the ledger yet."""
    settings.CHAIN_URL = ledger
    application = ApplicationFactory(consumer=user, status="under_review", application_data={"income": 52000})
    with override_settings(ROOT_URLCONF="config.urls"):
        response = move(api, application, "approved", "income verified")
    assert response.status_code == 200, response.content
    return application


def move(api, application, status, reason=None, **options):
    body = {"status": status, "updated_by": "reviewer-7", "reason": reason}
    return api.replace(f"/applications/{application.pk}/status", body, **options)


def read_proof(api, application):
    with override_settings(ROOT_URLCONF="config.urls"):
        return api.read(f"/applications/{application.pk}/proof")


def anchor(**options):
    out = StringIO()
    call_command("anchor_decisions", once=True, as_json=True, stdout=out, **options)
    return json.loads(out.getvalue().splitlines()[-1])


def test_a_decision_is_pending_until_the_worker_has_anchored_it(decided, api):
    body = read_proof(api, decided).json()
    assert (body["status"], body["proof"], body["proof_file"]) == ("pending", None, None)
    assert json.loads(body["record"])["decision"] == "approved"
    assert anchor() == {"anchored": 1, "failed": 0}
    assert anchor() == {"anchored": 0, "failed": 0}
    assert read_proof(api, decided).json()["status"] == "anchored"


def test_the_proof_is_accepted_by_a_foreign_implementation(decided, api):
    anchor()
    body = read_proof(api, decided).json()
    record = json.loads(body["record"])
    assert record["reason"] == "income verified"
    assert record["application_id"] == str(decided.pk) == body["application_id"]
    assert body["proof"]["hash"] == body["record_sha256"]
    leaf = bytes.fromhex(body["proof"]["leaf_hash"])
    assert foreign.accepts_proof_file(body["proof_file"], leaf, signer().verifier.vkey)


def test_a_reopening_is_a_decision_of_its_own(decided, api):
    with override_settings(ROOT_URLCONF="config.urls"):
        assert move(api, decided, "under_review", "new documents").status_code == 200
        assert move(api, decided, "rejected", "income not confirmed").status_code == 200
    assert anchor() == {"anchored": 3, "failed": 0}
    body = read_proof(api, decided).json()
    decisions = [json.loads(entry["record"])["decision"] for entry in body["decisions"]]
    assert decisions == ["approved", "reopened", "rejected"]
    assert body["record"] == body["decisions"][-1]["record"]


def test_a_ledger_that_cannot_be_reached_is_tried_again_later(decided, settings):
    settings.CHAIN_URL = "http://127.0.0.1:9"
    with pytest.raises(CommandError, match="1 decisions could not be anchored"):
        anchor()
    seal = DecisionAnchor.objects.get()
    assert (seal.attempts, seal.last_error, seal.anchored_at) == (1, "connect", None)
    assert seal.due_at > seal.history.changed_at


class _Lines(logging.Handler):
    """Keeps (message, request id) of every line."""

    def __init__(self):
        super().__init__()
        self.addFilter(RequestIdFilter())
        self.seen = []

    def emit(self, record):
        self.seen.append((record.getMessage(), record.request_id))


def test_the_ledger_logs_the_id_of_the_request_that_decided(committed, settings, ledger, user, api):
    settings.CHAIN_URL, settings.ACCESS_LOG = ledger, True
    asked = [str(uuid4()), str(uuid4())]
    with override_settings(ROOT_URLCONF="config.urls"):
        for request_id in asked:
            application = ApplicationFactory(consumer=user, status="under_review")
            response = move(api, application, "approved", x_request_id=request_id)
            assert response.headers["X-Request-Id"] == request_id
    lines, logger = _Lines(), logging.getLogger("platform.access")
    logger.addHandler(lines)
    try:
        assert anchor() == {"anchored": 2, "failed": 0}
    finally:
        logger.removeHandler(lines)
    anchored = [request_id for message, request_id in lines.seen if message.startswith("POST /anchor/batch 200")]
    assert sorted(anchored) == sorted(asked)
    assert {json.loads(seal.record)["request_id"] for seal in DecisionAnchor.objects.all()} == set(asked)


def test_a_ledger_behind_a_private_authority_is_reached_with_its_certificate(decided, settings, tmp_path):
    with private_server(tmp_path) as server:
        settings.CHAIN_URL = server.address
        for ca_file, word in (("", "reset"), (server.certificate, "status 501")):
            settings.LEDGER_CA_FILE = ca_file
            DecisionAnchor.objects.update(due_at=decided.updated_at)
            with pytest.raises(CommandError):
                anchor()
            assert DecisionAnchor.objects.get().last_error == word


def test_without_a_decision_there_is_no_proof(db, api, user):
    application = ApplicationFactory(consumer=user, status="submitted")
    assert_error(read_proof(api, application), 404, "E4001")


def test_a_stranger_sees_no_application(db, user, stranger_api, settings):
    settings.REVIEW_POLICY = "open"
    application = ApplicationFactory(consumer=user, status="approved")
    assert_error(read_proof(stranger_api, application), 404, "E4002")


def test_nothing_is_recorded_when_anchoring_is_switched_off(db, api, user, settings):
    settings.ANCHOR_DECISIONS = False
    application = ApplicationFactory(consumer=user, status="under_review")
    assert move(api, application, "approved").status_code == 200
    assert not DecisionAnchor.objects.exists()


def test_an_anchored_record_cannot_be_changed_unseen(decided, api):
    anchor()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE credit_decisionanchor SET record = replace(record, 'approved', 'rejected')")
    body = read_proof(api, decided).json()
    assert body["record_sha256"] != body["proof"]["hash"]
