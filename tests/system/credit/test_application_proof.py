"""`anchor_decisions` anchors decisions in a ledger, and `GET /applications/{id}/proof` returns verifiable proofs."""

import json
import logging
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from config.core.context import RequestIdFilter
from credit.models import ApplicationHistory, DecisionAnchor
from identity.accounts.erasure import erase
from identity.accounts.models import Erasure
from ledger.keys import signer
from ledger.models import Entry
from tests.credit.test_application_proof import move, read_proof
from tests.dripping import dripping
from tests.factories import ApplicationFactory
from tests.ledger import foreign
from tests.ledger.conftest import SIGNING_KEY
from tests.ledger.test_verify_ledger import verify
from tests.system.authority import private_server


@pytest.fixture
def ledger(live_server, settings, tmp_path):
    """The URL of a ledger, which the live server serves."""
    settings.LEDGER_ORIGIN = "ledger.example/log"
    settings.LEDGER_SIGNING_KEY = SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    with override_settings(ROOT_URLCONF="ledger.urls"):
        yield live_server.url


@pytest.fixture
def decided(committed, settings, ledger, user, api):
    """An approved application whose decision is not yet anchored."""
    settings.CHAIN_URL = ledger
    application = ApplicationFactory(consumer=user, status="under_review", application_data={"income": 52000})
    with override_settings(ROOT_URLCONF="config.urls"):
        response = move(api, application, "approved", "income verified")
    assert response.status_code == 200, response.content
    return application


def anchor(**options):
    out = StringIO()
    call_command("anchor_decisions", once=True, as_json=True, stdout=out, **options)
    return json.loads(out.getvalue().splitlines()[-1])


def test_proof_of_a_decision_is_pending_until_the_worker_anchors_the_decision(decided, api):
    body = read_proof(api, decided).json()
    assert (body["status"], body["proof"], body["proof_file"]) == ("pending", None, None)
    assert json.loads(body["record"])["decision"] == "approved"
    assert anchor() == {"anchored": 2, "failed": 0}  # the decision, and the key that signed it
    assert anchor() == {"anchored": 0, "failed": 0}
    assert read_proof(api, decided).json()["status"] == "anchored"


def test_a_third_party_implementation_accepts_the_proof_of_a_decision(decided, api):
    anchor()
    body = read_proof(api, decided).json()
    record = json.loads(body["record"])
    assert "income verified" not in body["record"]
    assert record["application_id"] == str(decided.pk) == body["application_id"]
    assert body["proof"]["hash"] == body["record_sha256"]
    leaf = bytes.fromhex(body["proof"]["leaf_hash"])
    assert foreign.accepts_proof_file(body["proof_file"], leaf, signer().verifier.vkey)


def test_reopening_an_application_is_anchored_as_a_separate_decision(decided, api):
    with override_settings(ROOT_URLCONF="config.urls"):
        assert move(api, decided, "under_review", "new documents").status_code == 200
        assert move(api, decided, "rejected", "income not confirmed").status_code == 200
    assert anchor() == {"anchored": 4, "failed": 0}
    body = read_proof(api, decided).json()
    decisions = [json.loads(entry["record"])["decision"] for entry in body["decisions"]]
    assert decisions == ["approved", "reopened", "rejected"]
    assert body["record"] == body["decisions"][-1]["record"]


def test_anchoring_is_retried_after_the_ledger_was_unreachable(decided, settings):
    settings.CHAIN_URL = "http://127.0.0.1:9"
    with pytest.raises(CommandError, match="2 records could not be anchored"):
        anchor()
    seal = DecisionAnchor.objects.get(record_key=None)
    assert (seal.attempts, seal.last_error, seal.anchored_at) == (1, "connect", None)
    assert seal.due_at > seal.history.changed_at


def test_the_ledger_logs_the_request_id_of_the_anchored_decision(committed, settings, ledger, user, api, caplog):
    settings.CHAIN_URL, settings.ACCESS_LOG = ledger, True
    ids = [str(uuid4()), str(uuid4())]
    with override_settings(ROOT_URLCONF="config.urls"):
        for request_id in ids:
            application = ApplicationFactory(consumer=user, status="under_review")
            response = move(api, application, "approved", x_request_id=request_id)
            assert response.headers["X-Request-Id"] == request_id
    caplog.set_level(logging.INFO, "platform.access")
    adding_ids = RequestIdFilter()
    caplog.handler.addFilter(adding_ids)
    assert anchor() == {"anchored": 3, "failed": 0}
    caplog.handler.removeFilter(adding_ids)
    lines = [record for record in caplog.records if record.getMessage().startswith("POST /anchor/batch 200")]
    anchored = [line.request_id for line in lines]
    assert sorted(request_id for request_id in anchored if request_id in ids) == sorted(ids)
    decisions = DecisionAnchor.objects.filter(record_key=None)
    assert {json.loads(seal.record)["request_id"] for seal in decisions} == set(ids)


def test_anchoring_over_tls_requires_the_certificate_of_the_private_certificate_authority(decided, settings, tmp_path):
    with private_server(tmp_path) as server:
        settings.CHAIN_URL = server.address
        for ca_file, word in (("", "tls"), (server.certificate, "status 501")):
            settings.LEDGER_CA_FILE = ca_file
            DecisionAnchor.objects.update(due_at=decided.updated_at)
            with pytest.raises(CommandError):
                anchor()
            assert {seal.last_error for seal in DecisionAnchor.objects.all()} == {word}


def test_anchoring_times_out_for_a_response_that_never_ends(decided, settings, monkeypatch):
    monkeypatch.setattr("config.clients.provider.READ_TIMEOUT_SECONDS", 0.3)
    with dripping() as settings.CHAIN_URL, pytest.raises(CommandError):
        anchor()
    assert {seal.last_error for seal in DecisionAnchor.objects.all()} == {"timeout"}


def test_changed_decision_record_does_not_match_its_anchored_proof(decided, api):
    anchor()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE credit_decisionanchor SET record = replace(record, 'approved', 'rejected')")
    body = read_proof(api, decided).json()
    assert body["record_sha256"] != body["proof"]["hash"]


def test_the_proof_of_a_decision_verifies_after_an_erasure(decided, api, user):
    anchor()
    before = read_proof(api, decided).json()
    type(decided).objects.update(status="withdrawn")
    call_command("erase_subject", str(user.pk), stdout=StringIO())
    record = Erasure.objects.get()
    assert record.status == "waiting"
    erase(record, now=timezone.now() + timedelta(days=6 * 366))
    assert [each["ground"] for each in record.kept] == ["decision_records"]
    decision = DecisionAnchor.objects.get(application=decided)
    assert (decision.record, decision.nonce) == (before["record"], "")
    assert ApplicationHistory.objects.get(application=decided).reason is None
    leaf = bytes.fromhex(before["proof"]["leaf_hash"])
    assert foreign.accepts_proof_file(before["proof_file"], leaf, signer().verifier.vkey)
    assert Entry.objects.filter(leaf_hash=leaf, user_id=None, nonce=None).exists()
    assert verify()["ok"]
