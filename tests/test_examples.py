"""Every operation of the reference works on a new `make run`, tried unchanged.

Each operation is called on a new demo with only the examples of the document.
"""

import json
import re
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.test import Client, override_settings

import config.urls
import ledger.urls
from config.api.docs import document_bytes
from config.ops import demo_ids
from identity.models import User
from tests.api import bearer_of
from tests.conftest import empty_database
from tests.ledger.conftest import SIGNING_KEY, LedgerClient

PLATFORM, LEDGER = "config.urls", "ledger.urls"
# These operations can't succeed with their example alone, for the given reason.
EXCEPTIONS = {
    "account_erasures_create": "the account has an open application",
    "account_exports_file": "a worker makes the file",
    "applications_end_pending_decision": "a decision waits for a second reviewer only where it takes two",
    "corrections_answer": "takes a reviewer who is not the applicant",
    "counteroffers_create": "the day until which it could be taken up is past",
    "counteroffers_decline": "an open one has the id that it was made with",
    "counteroffers_withdraw": "an open one has the id that it was made with",
    "auth_refresh": "takes the refresh token of a log-in, which is used once",
    "card_payments_events": "the card processor signs it",
    "holds_replace": "takes the group Operations",
    "holds_retrieve": "takes the group Operations",
    "kyc_receive": "the identity provider signs it",
    "managed_exports_file": "a worker makes the file",
    "notices_deliver": "a notice has the id that it was made with",
    "notices_retrieve": "a notice has the id that it was made with",
    "oauth_revoke": "takes the secret of a client, which is shown once",
    "oauth_token": "takes a code of the consent page",
    "reports_create": "takes a reviewer who is not the applicant",
    "scores_confirm": "takes a reviewer who is not the applicant",
    "precontracts_of_application": "the demo has no offer under the law of the European Union",
    "precontracts_of_offer": "the demo has no offer under the law of the European Union",
    "withdrawals_create": "the demo has no agreement under the law of the European Union",
    "withdrawals_retrieve": "the demo has no agreement under the law of the European Union",
    "scores_score_again": "takes a reviewer who is not the applicant",
}
EXAMPLES = Path(config.urls.__file__), Path(ledger.urls.__file__)
PDF = b"%PDF-1.4\n%%EOF\n"


@contextmanager
def demo_settings(folder):
    """Apply the settings of a demo: separate files, and no rate limits."""
    with override_settings(
        VAR_DIR=folder, WEBHOOK_ALLOW_PRIVATE=True, LEDGER_GUARD_FILE=folder / "guard", LEDGER_SIGNING_KEY=SIGNING_KEY,
        RATE_LIMITS=dict.fromkeys(settings.RATE_LIMITS),
    ):  # fmt: skip
        yield


def seeded():
    """Create the data of `make run` in an unused database; return the object that it prints."""
    restart_numbers()
    out = StringIO()
    call_command("seed_demo", as_json=True, stdout=out)
    call_command("reconcile_payments", once=True, stdout=StringIO())
    return json.loads(out.getvalue().splitlines()[-1])


@pytest.fixture
def demo(db, tmp_path, bookless):
    """Create a new demo; yield the object that `make run` prints for it."""
    with demo_settings(tmp_path):
        seeds = seeded()
        with override_settings(ROOT_URLCONF=LEDGER):
            assert LedgerClient().post_json("/anchor/batch", {"items": demo_ids.REPORTS}).status_code == 200
        yield seeds


@contextmanager
def lasting_demo(folder, blocker, policy=None):
    """Create a demo that outlives a test, under a review policy; yield the object that `make run` prints."""
    with demo_settings(folder), blocker.unblock():
        try:
            with override_settings(REVIEW_POLICY=policy or settings.REVIEW_POLICY):
                printed = seeded()
            yield printed
        finally:
            empty_database()


def restart_numbers():
    """Restart integer ids at 1."""
    sequences = connection.introspection.sequence_list()
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_by_name_sql(no_style(), sequences):
            cursor.execute(statement)


def operations(urlconf):
    """Yield (id, method, path template, description) of each operation of a document."""
    for path, methods in json.loads(document_bytes(urlconf))["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], method, path, operation


def address_of(path, operation):
    """Return the path and the required query, filled in with the examples of the parameters."""
    needed = [item for item in operation.get("parameters", ()) if item.get("required")]
    examples_by_name = {parameter["name"]: parameter["example"] for parameter in needed if parameter["in"] == "path"}
    query = {parameter["name"]: parameter["example"] for parameter in needed if parameter["in"] == "query"}
    return re.sub(r"\{(\w+)\}", lambda name: str(examples_by_name[name[1]]), path) + (
        f"?{urlencode(query)}" if query else ""
    )


def body_of(operation, demo):
    """Return the test client's arguments for the example of a body, with the password that `make run` prints."""
    content = operation.get("requestBody", {}).get("content", {})
    if "multipart/form-data" in content:
        return {"data": {"file": SimpleUploadedFile("payslip.pdf", PDF, "application/pdf")}}
    if "application/json" not in content:
        return {"content_type": "application/json"}
    written = json.dumps(content["application/json"]["example"])
    return {"data": written.replace("the-password", demo["password"]), "content_type": "application/json"}


def call(method, path, operation, demo, headers):
    """Call an operation with its examples and roll back; return the wrong response, or None."""
    client = Client(raise_request_exception=False)
    address, body = address_of(path, operation), body_of(operation, demo)
    before, signed = transaction.savepoint(), settings.LEDGER_GUARD_FILE.read_bytes()
    response = getattr(client, method)(address, headers=headers, **body)
    transaction.savepoint_rollback(before)
    settings.LEDGER_GUARD_FILE.write_bytes(signed)
    documented = {int(status) for status in operation["responses"] if status.startswith("2")}
    return None if response.status_code in documented else (response.status_code, response.content.decode()[:300])


def headers_of(demo):
    """Return a function from an operation's id to the credential of its example."""
    key = {"X-API-Key": demo["api_key"]}
    log_in = {"Authorization": f"Bearer {bearer_of(User.objects.get(pk=demo_ids.DEMO_USER))}"}
    # Only the account's own log-in collects a key or creates a key.
    takes_log_in = re.compile("auth_collect|(api_key|oauth_client|account_invitation|account_erasure|account_export)s_")
    return lambda name: log_in if takes_log_in.match(name) else key


def failures(urlconf, demo, headers_of):
    """Return the operations whose examples fail, with their responses."""
    tried = {
        name: call(method, path, operation, demo, headers_of(name))
        for name, method, path, operation in operations(urlconf)
        if name not in EXCEPTIONS
    }
    return {name: wrong for name, wrong in tried.items() if wrong is not None}


def test_every_platform_example_succeeds_on_a_new_demo(demo):
    assert failures(PLATFORM, demo, headers_of(demo)) == {}


@pytest.mark.urls(LEDGER)
def test_every_ledger_example_succeeds_on_a_new_demo(demo):
    assert failures(LEDGER, demo, lambda _name: {}) == {}


def test_bundle_key_and_proof_of_the_api_examples_verify_each_other(tmp_path):
    said, log = (
        {
            name: example.get("response")
            for name, example in json.loads(beside.with_name("examples.json").read_text()).items()
        }
        for beside in EXAMPLES
    )
    files = {"bundle": said["scores_bundle"], "keys": said["record_keys_keys"], "proof": log["proofs_proof_file"]}
    for name, content in files.items():
        (tmp_path / name).write_text(content if name == "proof" else json.dumps(content))
    key, report = log["nodes_key"]["vkey"], tmp_path / "report"
    report.write_text(demo_ids.REPORTS[0]["report_data"])
    # Each raises CommandError with the failed step.
    call_command("verify", tmp_path / "bundle", ledger_key=key, platform_key=[str(tmp_path / "keys")])
    call_command("verify", tmp_path / "proof", report=report, ledger_key=key)
    assert said["applications_proof"]["proof_file"] == said["scores_bundle"]["proof_file"]


def test_fewer_than_one_in_seven_api_examples_is_exempt_from_execution():
    names = [name for name, *_ in operations(PLATFORM)]
    assert set(EXCEPTIONS) <= set(names)
    assert len(EXCEPTIONS) * 7 < len(names)
