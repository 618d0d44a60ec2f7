"""The code blocks of README.md and of most guides run after the replacement of placeholders.

tests/system/walk runs tutorial.md, guides/scores.md, and guides/webhooks.md. tests/system/credit/commerce/test_guide.py
runs guides/commerce.md, and test_webhook_samples.py runs guides/verify-webhooks.md.
"""

import json
import logging
import os
import re
import shlex
import subprocess
import sys
from io import StringIO

import pytest
import requests
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from config.mail.models import OutgoingMail
from config.ops.logs import JsonLines
from credit.models import Application, DecisionAnchor, Offer
from identity.models import ManagedAccount, OAuthClient, User
from ledger import witnessing
from tests.documents import README, ROOT, blocks, page, runnable
from tests.factories import UserFactory
from tests.identity.support import issue
from tests.ledger.conftest import SIGNING_KEY
from tests.ledger.witnesses import Witness, policy_of, serving
from tests.system.credit.commerce.test_guide import differences
from tests.webhooks.receiver import Receiver

# Makes curl fail and print the error for an error response, unlike in the published blocks.
PREAMBLE = 'curl() { command curl -S --fail-with-body "$@"; }\n'


@pytest.fixture
def demo(committed, bookless, live_server, settings, tmp_path):
    """The environment variables of the blocks, for a server with the demo's data."""
    settings.VAR_DIR = tmp_path / "var"  # the blocks read `var` in their working directory
    settings.VAR_DIR.mkdir()
    settings.BASE_URL = f"{live_server.url}/v1"
    out = StringIO()
    call_command("seed_demo", as_json=True, stdout=out)
    printed = json.loads(out.getvalue().splitlines()[-1])
    user_id = requests.get(f"{live_server.url}/v1/auth/me", headers={"X-API-Key": printed["api_key"]}, timeout=99)
    return {
        "BASE": settings.BASE_URL, "KEY": printed["api_key"], "ROOT": live_server.url,
        "USER_ID": str(user_id.json()["id"]), "OFFER_ID": str(Offer.objects.filter(provider_id="1001").first().pk),
    }  # fmt: skip


@pytest.fixture
def paste(tmp_path):
    """A function that runs a block in a shell with environment variables, and returns its output."""

    def run_block(block, variables):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", PREAMBLE + block],
            cwd=tmp_path, env={**os.environ, **variables}, capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run_block


def replaced(block, *pairs):
    """Replace placeholders in a block. Fails if the block lacks a placeholder."""
    for placeholder, value in pairs:
        assert placeholder in block, placeholder
        block = block.replace(placeholder, value)
    return block


def test_code_blocks_of_the_readme_create_and_submit_an_application(demo, paste):
    _make_run, _printed_command, block = runnable(README.read_text())  # tests/system/walk runs the first two
    printed = paste(replaced(block, (r"\"offer_id\": 1", rf"\"offer_id\": {demo['OFFER_ID']}")), demo)
    assert '"submitted"' in printed
    assert Application.objects.filter(consumer_id=demo["USER_ID"], status="submitted").exists()


PRINTED = {
    "guides/quotes.md": ['"schedule"'],
    "guides/payments.md": ['"transaction_id"'],
    "guides/identity-and-bank-data.md": ["hosted_url", '"transactions"'],
    "guides/claims.md": ['"status":"draft"'],
    "guides/staging.md": ['"status":"approved"'],
    "guides/wallets.md": ['"account_id"'],
}


def test_code_blocks_of_each_guide_print_the_documented_fields(demo, paste):
    for guide, fields in PRINTED.items():
        blocks_of_guide = "\n".join(runnable(page(guide)))
        printed = paste(blocks_of_guide.replace("provider-offers/1/", f"provider-offers/{demo['OFFER_ID']}/"), demo)
        assert [field for field in fields if field not in printed] == [], guide
    block, _signed = runnable(page("guides/authentication.md"))
    block = replaced(block, ("https://sandbox.example.com/v1", demo["BASE"]), ("ck_test_…", demo["KEY"]))
    assert json.loads(paste(block, {}))["username"] == "demo"


@pytest.fixture
def receiver():
    """A server that records its requests."""
    with Receiver() as running:
        yield running


def test_code_blocks_of_the_quickstart_submit_an_application_and_verify_a_webhook(demo, paste, receiver, settings):
    settings.WEBHOOK_ALLOW_PRIVATE = True
    code = runnable(page("quickstart.md"))
    documented = [json.loads(block) for block in code if block.startswith("{")]
    first, define, apply, submit, subscribe, verify = (block for block in code if not block.startswith("{"))
    scopes = re.findall(r"`(\w+:?\w+)`", re.search(r"only the scopes (.+)\. If", page("quickstart.md"))[1])
    key = issue(User.objects.get(pk=demo["USER_ID"]), scopes=scopes).key
    first = replaced(first, ("https://sandbox.example.com/v1", demo["BASE"]), ("ck_test_…", key))
    subscribe = replaced(subscribe, ("https://receiver.example.com/hook", receiver.url))
    printed = paste(f"{first}\n{define}\n{apply}\n{submit}\n{subscribe}\necho secret: $SECRET", {})
    answers = map(json.loads, re.findall(r"^\{.*\}", printed, re.MULTILINE))
    assert [set(some) - set(answer) for some, answer in zip(documented, answers, strict=True)] == [set()] * 4
    assert "\nsubmitted\n" in printed
    call_command("deliver_webhooks", once=True, stdout=StringIO())
    (delivery,) = [request for request in receiver.received if b'"webhook.test"' in request.body]
    names = {"ID": "webhook-id", "TIMESTAMP": "webhook-timestamp", "SIGNATURE": "webhook-signature"}
    copied = {**{name: delivery.headers[header] for name, header in names.items()}, "BODY": delivery.body.decode()}
    verify = replaced(verify, *((f"{name}='…'", f"{name}='{value}'") for name, value in copied.items()))
    assert paste(verify, {"SECRET": printed.split("secret: ")[1].strip()}).endswith("verified\n")


def test_code_blocks_of_the_sandbox_guide_expire_applications(demo, paste):
    resend, advance = runnable(page("guides/sandbox.md"))
    printed = paste(f"{resend}\n{advance}", {})
    assert '"login_required":true' in printed
    answer = json.loads(printed[printed.index('{"advanced_seconds"') :])
    assert (answer["advanced_seconds"], answer["done"]["applications_expired"] > 0) == (31 * 86_400, True)


def test_code_block_of_the_oauth_guide_registers_a_client(db):
    (block,) = runnable(page("guides/oauth.md"))
    python, manage, *arguments = shlex.split(block)
    assert (python, manage) == (".venv/bin/python", "manage.py")
    call_command(*arguments, stdout=StringIO())
    assert OAuthClient.objects.filter(name="Budget app").exists()


def test_code_blocks_of_the_accounts_guide_submit_an_application_for_a_customer(demo, paste, tmp_path):
    log_in, account, application = runnable(page("guides/accounts.md"))
    application = replaced(application, (r"\"offer_id\": 1", rf"\"offer_id\": {demo['OFFER_ID']}"))
    assert '"submitted"' in paste(f"{log_in}\n{account}\n{application}", {})
    created = Application.objects.latest("pk")
    customer = ManagedAccount.objects.get(external_id="customer-4711")
    assert (created.consumer_id, created.status, customer.partner.username) == (customer.pk, "submitted", "demo")
    (mail,) = OutgoingMail.objects.filter(template="claim")
    assert mail.recipient == "jane@example.org"


def test_code_block_of_the_authentication_guide_signs_a_request(committed, live_server):
    _sent, block = runnable(page("guides/authentication.md"))
    names = {}
    exec(block, names)
    user = UserFactory()
    issued = issue(user)
    answer = names["signed"]("GET", live_server.url, "/v1/auth/me", issued.key, issued.secret)
    assert (answer.status_code, answer.json()["id"]) == (200, user.pk)
    wrong = names["signed"]("GET", live_server.url, "/v1/auth/me", issued.key, "another")
    assert wrong.json()["code"] == "E2006"


def feed_of(demo):
    """Yield all events of the demo account."""
    last, has_more = 0, True
    while has_more:
        address = f"{demo['BASE']}/webhooks/events?after={last}&limit=100"
        page_of_events = requests.get(address, headers={"X-API-Key": demo["KEY"]}, timeout=99).json()
        yield from page_of_events["events"]
        last, has_more = page_of_events["events"][-1]["sequence"], page_of_events["has_more"]


def test_event_in_the_webhooks_guide_has_the_fields_of_a_real_event(demo):
    _first, documented = runnable(page("guides/webhooks.md"))  # tests/system/walk runs the first block
    documented = json.loads(documented)
    event = next(item for item in feed_of(demo) if item["type"] == documented["type"])
    assert set(event) == set(documented)
    assert set(event["data"]["object"]) == set(documented["data"]["object"])


def test_log_line_in_the_monitoring_guide_has_the_fields_of_a_real_line(api, settings, caplog):
    (documented,) = runnable(page("operate/monitoring.md"))
    settings.ACCESS_LOG = True
    caplog.set_level(logging.INFO, "platform.access")
    api.read("/applications")
    (record,) = [record for record in caplog.records if record.name == "platform.access"]
    record.request_id = "-"
    assert list(json.loads(documented)) == list(json.loads(JsonLines().format(record)))


def test_score_evaluation_in_the_scores_guide_matches_its_scorecard(api):
    code = [block.code for block in blocks(page("guides/scores.md")) if not block.not_run]
    body = next(block for block in code if '"definition": {' in block)
    version = json.loads(re.search(r"-d '(\{.*\})' \|", body, flags=re.DOTALL)[1])
    facts = next(block for block in code if "/evaluate -d" in block)
    (documented,) = [json.loads(block) for block in code if block.startswith('{"total"')]
    model = api.send("/scoring/models", {"provider_id": "91", "name": "Guide"}).json()["id"]
    created = api.send(f"/scoring/models/{model}/versions", version).json()
    path = f"/scoring/models/{model}/versions/{created['number']}/evaluate"
    answer = api.send(path, json.loads(re.search(r"-d '(\{.*\})'", facts, flags=re.DOTALL)[1])).json()
    assert list(differences(documented, answer)) == []


@pytest.fixture
def log(settings, tmp_path):
    """A separate ledger with two witnesses."""
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "ledger.example/log", SIGNING_KEY
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 67_108_864  # the limit with SERVICE=ledger
    with serving(*(Witness(number) for number in (1, 2))) as addresses:
        (tmp_path / "witness-policy").write_text(policy_of(addresses))
        settings.WITNESS_POLICY = str(tmp_path / "witness-policy")
        yield


def with_test_python(block):
    return replaced(block, (".venv/bin/python manage.py", f"{sys.executable} {ROOT / 'manage.py'}"))


def test_code_blocks_of_the_ledger_guide_anchor_and_verify_a_report(committed, log, live_server, paste, tmp_path):
    anchor, prove, witnessed = runnable(page("guides/ledger-and-proofs.md"))
    with override_settings(ROOT_URLCONF="ledger.urls"):
        (tmp_path / "var").mkdir()
        (tmp_path / "var" / "demo.json").write_text(json.dumps({"ledger_url": live_server.url}))
        variables = {"VAR_DIR": str(tmp_path)}
        paste(anchor, variables)
        witnessing.Asker(witnessing.policy()).ask(now=timezone.now())
        printed = paste(with_test_python(f"{anchor}\n{prove}\n{witnessed}"), variables)
        assert printed.count("verified: True") == 2


def test_code_blocks_of_the_applications_guide_accept_an_approval_and_verify_its_proof(
    demo, log, live_server, paste, tmp_path
):
    accept, documents, prove = runnable(page("guides/applications.md"))
    offer = (r"\"offer_id\": 1", rf"\"offer_id\": {demo['OFFER_ID']}")
    assert paste(replaced(documents, offer), {}).endswith("as it was\n")
    assert '"accepted_at"' in paste(replaced(accept, offer), {})
    fields = {**demo, "ID": str(Application.objects.latest("pk").pk)}
    with override_settings(ROOT_URLCONF="ledger.urls", CHAIN_URL=live_server.url):
        while DecisionAnchor.objects.filter(anchored_at__isnull=True).exists():  # records are anchored in batches
            call_command("anchor_decisions", once=True, stdout=StringIO())
        key = requests.get(f"{live_server.url}/key", timeout=99).json()["vkey"]
    assert "score" in paste(replaced(prove, ("$(curl -s $(demo ledger_url)/key | member vkey)", key)), fields)
