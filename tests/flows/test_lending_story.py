"""A loan from the application to its acceptance, over HTTP alone: docs/tutorial.md, as software does it."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import override_settings
from standardwebhooks import Webhook

from config.webhooks.worker import Worker
from ledger.keys import signer
from tests.api import ApiClient, assert_error, client_of
from tests.credit.document_support import FORM, form, part
from tests.factories import UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.ledger import foreign
from tests.ledger.conftest import SIGNING_KEY
from tests.webhooks.receiver import Receiver

SCOPES = "applications:read applications:write offers:read"


@pytest.fixture
def ledger(committed, live_server, settings, tmp_path):
    """Service B in this process, which decisions are carried to."""
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "ledger.example/log", SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    settings.CHAIN_URL, settings.ANCHOR_DECISIONS = live_server.url, True
    settings.WEBHOOK_ALLOW_PRIVATE, settings.REVIEW_POLICY = True, "four_eyes"


def ok(response, status=200):
    assert response.status_code == status, response.content
    return response.json() if response.content else None


def app_of(consumer):
    """Return an app to which the consumer delegated scopes, by the consent page and the code that comes of it."""
    client, secret = make_client(scopes=SCOPES.split())
    tokens = ok(exchange(code_for(consumer, client, scope=SCOPES), client, secret))
    return ApiClient(bearer=tokens["access_token"])


def move(client, application, to, **members):
    return client.replace(f"/applications/{application}/status", {"status": to, "updated_by": "me", **members})


def heard(receiver, secret):
    """Return the types of the events that a receiver was sent, each verified with a library of somebody else's."""
    told = [Webhook(secret).verify(one.body, dict(one.headers.items())) for one in receiver.received]
    return [one["type"] for one in sorted(told, key=lambda one: one["sequence"])]


def test_from_the_application_to_the_acceptance(ledger):
    consumer, lender, colleague = UserFactory(), UserFactory(), UserFactory(username="colleague")
    theirs, ours, second = client_of(consumer), client_of(lender), client_of(colleague)
    app = app_of(consumer)

    # The lender lists an offer, and lets a colleague act for it.
    terms = {
        "provider_id": "4711", "name": "Bridge loan", "product_type": "personal_loan", "apr_min_percent": 7.5,
        "apr_max_percent": 12.0, "loan_amount_max_cents": 2_000_000, "term_options_months": [12, 24],
    }  # fmt: skip
    offer = ok(ours.send("/provider-offers", terms), 201)["id"]
    ok(ours.send("/providers/4711/members", {"username": "colleague"}), 201)

    with Receiver() as consumers, Receiver() as lenders:
        secrets = [
            ok(one.send("/webhooks/endpoints", {"url": receiver.url, "event_types": ["*"]}), 201)["secret"]
            for one, receiver in ((theirs, consumers), (ours, lenders))
        ]

        # The consumer's app asks what it would cost, and applies.
        quote = ok(app.read(f"/provider-offers/{offer}/quote?amount_cents=1000000&term_months=24"))
        assert quote["total_of_payments_cents"] > 1_000_000
        data = {"amount_cents": 1_000_000, "term_months": 24, "monthly_income_cents": 350_000}
        wanted = {"consumer_id": str(consumer.pk), "offer_id": int(offer), "provider_id": 4711}
        application = ok(app.send("/applications", {**wanted, "application_data": data}), 201)["id"]
        assert ok(ours.read("/providers/4711/applications"))["total"] == 0
        ok(move(app, application, "submitted"))
        assert_error(move(app, application, "approved"), 400, "E3001")

        # The lender finds it and asks for a document; the app hands it in and sends the application back.
        [found] = ok(ours.read("/providers/4711/applications?status=submitted"))["applications"]
        assert found["id"] == application
        ok(move(ours, application, "under_review"))
        asked = ok(ours.send(f"/applications/{application}/documents", {"names": ["Payslip"]}), 201)
        document = asked["documents"][0]["id"]
        assert_error(move(app, application, "under_review"), 400, "E3001")
        files = f"/applications/{application}/documents/{document}/files"
        ok(app.send(files, raw=form(part()), content_type=FORM), 201)
        ok(move(app, application, "under_review"))

        # Two people of the lender's decide together.
        assert (
            ok(move(ours, application, "approved", reason="Income is enough"))["pending_decision"]["to"] == "approved"
        )
        assert ok(move(second, application, "approved"))["status"] == "approved"

        # The app takes the approval up, on the terms that were pinned.
        shown = ok(app.read(f"/applications/{application}/acceptance"))
        assert shown["terms"]["apr_max_percent"] == 12.0
        ok(app.send(f"/applications/{application}/acceptance", {"terms_sha256": shown["terms_sha256"]}))
        assert ok(ours.read("/providers/4711/applications"))["applications"][0]["accepted_at"]
        assert_error(move(theirs, application, "withdrawn"), 400, "E3001")

        # Both were told of every step, signed.
        Worker().run(once=True)
        steps = [
            "application.submitted", "application.under_review", "application.pending_documents",
            "application.document_received", "application.under_review", "application.approved",
            "application.accepted",
        ]  # fmt: skip
        assert heard(consumers, secrets[0]) == ["application.created", *steps]
        assert heard(lenders, secrets[1]) == steps

    # What was decided and what was taken up can be proved to anybody, without us.
    with override_settings(ROOT_URLCONF="ledger.urls"):
        call_command("anchor_decisions", once=True, stdout=StringIO())
    proof = ok(app.read(f"/applications/{application}/proof"))
    [decided], [accepted] = proof["decisions"], proof["acceptances"]
    assert json.loads(decided["record"])["offer_terms_sha256"] == shown["terms_sha256"]
    assert json.loads(accepted["record"])["offer_terms_sha256"] == shown["terms_sha256"]
    for kept in (decided, accepted):
        leaf = bytes.fromhex(kept["proof"]["leaf_hash"])
        assert foreign.accepts_proof_file(kept["proof_file"], leaf, signer().verifier.vkey)
