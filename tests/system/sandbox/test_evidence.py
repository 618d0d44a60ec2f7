"""Advancing the sandbox clock does not change the proofs of anchored records."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import override_settings

from credit.models import DecisionAnchor
from ledger.keys import signer
from tests.ledger import foreign
from tests.ledger.conftest import SIGNING_KEY
from tests.sandbox.conftest import seconds_of


@pytest.fixture
def anchored(committed, live_server, settings, tmp_path, user, api):
    """The ID of an approved application whose decision is anchored in a separate ledger."""
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "ledger.example/log", SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    settings.CHAIN_URL, settings.ANCHOR_DECISIONS = live_server.url, True
    body = {"consumer_id": str(user.pk), "offer_id": 1, "provider_id": 700, "initial_status": "under_review"}
    application = api.send("/applications", {**body, "application_data": {"income": 52_000}}).json()["id"]
    moved = api.replace(f"/applications/{application}/status", {"status": "approved", "updated_by": "me"})
    assert moved.status_code == 200
    anchor()
    return application


def anchor():
    """Anchor the pending records; return their number."""
    out = StringIO()
    with override_settings(ROOT_URLCONF="ledger.urls"):
        call_command("anchor_decisions", once=True, as_json=True, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])["anchored"]


def verified():
    """Verify the ledger and the platform's proofs; return the proofs."""
    out = StringIO()
    with override_settings(ROOT_URLCONF="ledger.urls"):
        call_command("verify_ledger", as_json=True, stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1])["ok"]
    anchors = list(DecisionAnchor.objects.order_by("pk"))
    for record in anchors:
        leaf = bytes.fromhex(record.proof["leaf_hash"])
        assert foreign.accepts_proof_file(record.proof_file, leaf, signer().verifier.vkey)
    return [(item.record, item.proof, item.proof_file, item.anchored_at) for item in anchors]


def test_advancing_the_sandbox_clock_does_not_change_proofs_of_anchored_records(anchored, api):
    before, proof = verified(), api.read(f"/applications/{anchored}/proof").json()
    bundle = api.read(f"/applications/{anchored}/decision-bundle").json()
    done = api.send("/sandbox/clock", {"advance_seconds": seconds_of(days=40)}).json()["done"]
    assert done["applications_expired"] == 1
    assert verified() == before
    assert api.read(f"/applications/{anchored}/proof").json() == proof
    assert api.read(f"/applications/{anchored}/decision-bundle").json() == bundle
