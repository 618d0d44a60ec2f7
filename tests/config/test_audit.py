"""Test the events of the audit log, the validity of each line, and that `verify` detects lost and changed lines.

`ocsf.json` is an excerpt of the JSON Schemas of four classes of OCSF 1.5.0 (Apache-2.0). The package `ocsf-json-schema`
1.2.0 generated the schemas. The excerpt contains the properties of the audit lines and every constraint on them.
"""

import json
import logging
import os
import re
from collections import Counter
from io import StringIO
from pathlib import Path

import jsonschema
import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from config.core import audit
from config.core.groups import SUPPORT
from config.ops.logs import AuditLines, ReadableLines
from credit.core.applicants import Applicants
from credit.core.machine import APPROVED, UNDER_REVIEW
from identity.models import AccountHistory, User
from tests.api import ApiClient, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm
from tests.commands import run_json
from tests.factories import PASSWORD, ApplicationFactory, UserFactory
from tests.races import run_concurrently
from tests.second_factors import authenticator_of, code_of, secret_on

SCHEMAS = json.loads((Path(__file__).parent / "ocsf.json").read_text())
OURS = {"logger", "process", "sequence", "prev"}
UNMAPPED = {"account", "client", "entries", "masked", "provider", "settings", "status", "subject"}
DOCUMENTATION = Path("docs/operate/audit.md")
FACTOR = "/account/second-factor"


class Lines(logging.Handler):
    """Collects the written lines."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())

    def events(self):
        return [json.loads(text) for text in self.texts]

    def kinds(self):
        return [event["metadata"]["event_code"] for event in self.events()]


@pytest.fixture
def lines(monkeypatch):
    handler = Lines()
    monkeypatch.setattr(audit.logger, "handlers", [handler])
    audit.CHAIN.reset()
    return handler


@pytest.fixture
def committing(django_capture_on_commit_callbacks):
    """Return a context that runs the on-commit callbacks at its end."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


def check_line(event):
    """Assert that a line has only known fields, and is valid OCSF without the fields of the hash chain."""
    assert list(event)[:5] == ["logger", "process", "sequence", "prev", "time"]
    assert event.get("unmapped", {}).keys() <= UNMAPPED
    ocsf = {name: value for name, value in event.items() if name not in OURS}
    jsonschema.Draft202012Validator(SCHEMAS[str(event["class_uid"])]).validate(ocsf)
    assert event["type_uid"] == event["class_uid"] * 100 + event["activity_id"]


def checked(lines):
    for event in lines.events():
        check_line(event)
    (chain,) = audit.check(text.encode() for text in lines.texts)
    assert (chain.last, chain.fault) == (len(lines.texts), "")
    return lines.kinds()


def test_first_audit_line_of_a_process_contains_the_settings_without_secrets(lines, settings):
    audit.emit_start()
    assert checked(lines) == ["process.started"]
    (event,) = lines.events()
    assert (event["sequence"], event["prev"]) == (1, audit.NO_LINE)
    assert event["metadata"]["product"]["version"] == event["app"]["version"]
    assert f'version = "{event["app"]["version"]}"' in Path("pyproject.toml").read_text()
    assert event["unmapped"]["settings"]["REVIEW_POLICY"] == settings.REVIEW_POLICY
    assert settings.SECRET_KEY not in lines.texts[0]


def test_log_out_and_failed_log_in_emit_audit_lines(db, lines, committing):
    user = UserFactory(username="jane")
    user.set_password("a right password")
    user.save()
    with committing():
        ApiClient().send("/auth/token", {"username": "jane", "password": "a wrong password"})
        pair = ApiClient().send("/auth/token", {"username": "jane", "password": "a right password"}).json()
        for _twice in range(2):
            ApiClient().send("/auth/revoke", {"refresh_token": pair["refresh_token"]})
    assert checked(lines) == ["log_in.failed", "log_in", "log_out"]
    failure, success, end = lines.events()
    assert (failure["status_id"], failure["status_detail"]) == (2, "failed")
    assert success["user"]["uid"] == end["user"]["uid"] == str(user.pk)
    assert success["user"]["credential_uid"] == end["user"]["credential_uid"]
    assert not any("jane" in text or "password" in text.replace("password_", "") for text in lines.texts)


def test_browser_session_emits_audit_lines_for_log_in_and_log_out(db, lines, committing, client):
    user = UserFactory()
    with committing():
        client.force_login(user)
        client.logout()
    assert checked(lines) == ["log_in", "log_out"]


def test_changes_of_keys_and_groups_write_audit_lines_with_their_ids(db, lines, committing):
    user = UserFactory()
    with committing():
        api = client_of(user)
        key = api.send("/api-keys", {"name": "For Jane Doe"}).json()
        rotated = api.send(f"/api-keys/{key['id']}/rotate", {}).json()
        api.remove(f"/api-keys/{rotated['id']}")
        user.groups.add(Group.objects.get(name=SUPPORT))
        user.groups.add(Group.objects.get(name=SUPPORT))
        user.groups.clear()
    kinds = ["log_in", "api_key.created", "api_key.rotated", "api_key.revoked", "group.added", "group.removed"]
    assert checked(lines) == kinds
    created, rotation, end, added = lines.events()[1:5]
    assert created["entity"] == {"type": "api_key", "uid": key["id"]}
    assert rotation["entity"]["uid"] == end["entity"]["uid"] == rotated["id"]
    assert created["actor"]["user"]["uid"] == str(user.pk)
    assert added["group"] == {"name": SUPPORT}
    assert "Jane Doe" not in "".join(lines.texts)


def test_each_audited_action_writes_a_valid_audit_line_without_names_and_passwords(db, lines, committing, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": None}  # A rate-limited attempt is not a failed log-in.
    marker, rounds = "mk-jane", int(os.environ.get("AUDITED", "16")) // 8
    for number in range(rounds):
        user = UserFactory(username=f"{marker}-{number}")
        with committing():
            ApiClient().send("/auth/token", {"username": user.username, "password": f"{marker} is wrong"})
            api = client_of(user)
            key = api.send("/api-keys", {"name": f"{marker} key"}).json()
            rotated = api.send(f"/api-keys/{key['id']}/rotate", {}).json()
            api.remove(f"/api-keys/{rotated['id']}")
            user.groups.add(Group.objects.get(name=SUPPORT))
            user.groups.clear()
            api.send("/account/exports")
    kinds = [
        "log_in.failed", "log_in", "api_key.created", "api_key.rotated", "api_key.revoked", "group.added",
        "group.removed", "account.export_requested",
    ]  # fmt: skip
    assert Counter(checked(lines)) == Counter(kinds * rounds)
    assert not any(marker in text for text in lines.texts)


def test_unmasking_writes_an_audit_line_without_the_reason(db, lines, committing):
    person = UserFactory(username="patient", email="patient@example.test")
    support = backoffice_client(staff_of(SUPPORT))
    with committing():
        support.get(f"/admin/identity/user/{person.pk}/change/")
        support.get("/admin/identity/user/?q=patient")
        address = reverse("admin:identity_user_do", args=[person.pk, "unmask"])
        assert confirm(support, address, reason="She called Dr. Miller").status_code == 200
    kinds = checked(lines)
    assert {"personal_data.page", "personal_data.list", "personal_data.unmasked"} <= set(kinds)
    unmasked = lines.events()[kinds.index("personal_data.unmasked")]
    assert unmasked["entity"] == {"type": "identity.user", "uid": str(person.pk)}
    assert unmasked["unmapped"]["subject"] == person.pk
    assert not re.search("Miller|patient", "".join(lines.texts))


def test_four_eyes_decision_emits_audit_lines_for_proposal_confirmation_and_decision(db, lines, committing, settings):
    settings.REVIEW_POLICY = "four_eyes"
    settings.BACKOFFICE_SECOND_FACTOR = False
    application = ApplicationFactory(status=UNDER_REVIEW)
    with committing():
        for reviewer in (staff_of("Reviewer", username="one"), staff_of("Reviewer", username="two")):
            body = {"status": APPROVED, "updated_by": "Ms. Reviewer"}
            response = client_of(reviewer).replace(f"/applications/{application.pk}/status", body)
            assert response.status_code in {200, 202}, response.content
    decided = [kind for kind in checked(lines) if kind.startswith("decision.")]
    assert decided == ["decision.proposed", "decision.confirmed", "decision.made"]
    event = lines.events()[-1]
    assert (event["entity"]["uid"], event["unmapped"]["status"]) == (str(application.pk), APPROVED)
    assert "Ms. Reviewer" not in "".join(lines.texts)


def test_report_request_emits_one_audit_line_without_personal_data(db, lines, committing):
    reviewer = staff_of("Reviewer", username="rita")
    person = {"legal_name": "Rosa Thickfile", "date_of_birth": "1990-04-05", "address": None}
    application = ApplicationFactory(status=UNDER_REVIEW, applicants=Applicants.of([person]))
    with committing():
        for status in (201, 200):  # The second request reuses the report.
            body = {"kind": "credit", "purpose": "credit_transaction"}
            response = client_of(reviewer).send(f"/applications/{application.pk}/reports", body)
            assert response.status_code == status, response.content
    assert checked(lines).count("report.requested") == 1
    line = next(event for event in lines.events() if event["metadata"]["event_code"] == "report.requested")
    assert line["entity"] == {"type": "credit.report", "uid": response.json()["id"]}
    assert line["actor"]["user"]["uid"] == str(reviewer.pk)
    assert line["unmapped"] == {"subject": application.consumer_id, "provider": str(application.provider_id)}
    assert "Thickfile" not in "".join(lines.texts)


def test_request_to_delete_an_account_writes_an_audit_line(db, lines, committing, client):
    user = UserFactory()
    user.set_password("a right password")
    user.save()
    with committing():
        client.post("/account/login", {"login": user.username, "password": "a right password"})
        location = client.post("/account/privacy").headers["Location"]
        client.post(location, {"password": "a right password", "next": "/account/privacy"})
        for action in ("erase", "keep"):
            client.post("/account/privacy", {"do": action})
    assert checked(lines)[0] == "log_in"
    assert checked(lines)[-2:] == ["account.deletion_requested", "account.deletion_canceled"]


def test_commands_for_accounts_keys_and_apps_write_audit_lines_and_history_entries(db, lines, committing):
    with committing():
        account_id = run_json("create_user", "ada", "--password", PASSWORD)["id"]
        key = run_json("create_api_key", "ada", "--name", "Server")["id"]
        successor = run_json("rotate_api_key", key)["id"]
        run_json("revoke_api_key", successor)
        run_json("revoke_api_key", successor)
        run_json("set_password", "ada", "--password", f"{PASSWORD} again")
        authenticator_of(User.objects.get(pk=account_id))
        run_json("reset_second_factor", "ada")
        run_json("reset_second_factor", "ada")
        run_json("disable_user", "ada")
        client = run_json(
            "create_oauth_client", "Shop", "--redirect-uri", "https://a.example", "--scope", "offers:read"
        )
        invitation = run_json("invite", "jane@example.org")
    expected = [
        ("account.created", "create_user", account_id), ("api_key.created", "create_api_key", key),
        ("api_key.rotated", "rotate_api_key", successor), ("api_key.revoked", "revoke_api_key", successor),
        ("account.password_changed", "set_password", account_id),
        ("account.second_factor_removed", "reset_second_factor", account_id),
        ("account.disabled", "disable_user", account_id),
        ("oauth_client.created", "create_oauth_client", client["client_id"]),
        ("invitation.created", "invite", invitation["id"]),
    ]  # fmt: skip
    assert [
        (event["metadata"]["event_code"], event["actor"]["app_name"], event["entity"]["uid"])
        for event in lines.events()
    ] == [(kind, f"command:{command}", str(uid)) for kind, command, uid in expected]
    checked(lines)
    history = AccountHistory.objects.filter(account_id=account_id).order_by("id")
    assert list(history.values_list("action", "credential")) == [
        (kind, f"command:{command}") for kind, command, _uid in expected[:-2]
    ]


def test_credential_changes_on_account_pages_write_audit_lines(transactional_db, lines):
    user = UserFactory()
    browser = Client()
    browser.post("/account/login", {"login": user.username, "password": PASSWORD})
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    secret = secret_on(browser.get(f"{FACTOR}/app/add").content.decode())
    new = f"{PASSWORD} again"
    for path, fields in (
        (f"{FACTOR}/app/add", {"code": code_of(secret)}),
        (f"{FACTOR}/confirm", {"code": code_of(secret, steps=1)}),
        (f"{FACTOR}/app/remove", {}),
        ("/account/password", {"oldpassword": PASSWORD, "password1": new, "password2": new}),
    ):
        browser.post(path, fields)
    changes = [event for event in lines.events() if event["metadata"]["event_code"].startswith("account.")]
    assert [(event["metadata"]["event_code"], event["entity"]["uid"]) for event in changes] == [
        ("account.second_factor_added", str(user.pk)),
        ("account.second_factor_removed", str(user.pk)),
        ("account.password_changed", str(user.pk)),
    ]
    assert {event["actor"]["user"]["uid"] for event in changes} == {str(user.pk)}


def test_rolled_back_transaction_writes_no_audit_line(committed, lines):
    with transaction.atomic():
        audit.emit("log_out", user=audit.ocsf_user(7))
        transaction.set_rollback(True)
    with transaction.atomic():
        audit.emit("log_out", user=audit.ocsf_user(8))
        assert not lines.texts
    assert [event["user"]["uid"] for event in lines.events()] == ["8"]


def test_audit_lines_of_concurrent_threads_form_one_hash_chain(lines):
    def write():
        for number in range(50):
            audit.emit_now("log_out", user=audit.ocsf_user(number))

    run_concurrently(*[write] * 8)
    assert len(checked(lines)) == 400


def test_forked_process_starts_a_new_audit_hash_chain(lines):
    audit.emit_now("log_out", user=audit.ocsf_user(1))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        audit.emit_now("log_out", user=audit.ocsf_user(2))
        os.write(writer, lines.texts[-1].encode())
        os._exit(0)
    os.waitpid(child, 0)
    event = json.loads(os.read(reader, 65_536))
    assert (event["sequence"], event["prev"]) == (1, audit.NO_LINE)
    assert event["process"] != lines.events()[0]["process"]


def test_unknown_audit_kind_raises_an_error_and_writes_no_line(lines):
    with pytest.raises(KeyError):
        audit.emit_now("coffee.made")
    assert not lines.texts


def test_audit_handler_writes_each_line_to_standard_error_and_counts_the_lines(monkeypatch, capfd):
    counted = []
    counter = type("Counter", (), {"inc": lambda _self: counted.append(1)})()
    monkeypatch.setattr("config.ops.logs.counts_of_process", type("Counts", (), {"audit_lines": counter}))
    handler = AuditLines()
    handler.setFormatter(logging.Formatter("%(message)s"))
    monkeypatch.setattr("config.ops.logs.sys.stderr", type("Stream", (), {"closed": False, "fileno": lambda _s: 2})())
    monkeypatch.setattr(audit.logger, "handlers", [handler])
    audit.emit_now("log_out", user=audit.ocsf_user("7%s"))
    assert json.loads(capfd.readouterr().err)["user"]["uid"] == "7%s"
    assert counted == [1]


def test_every_action_of_the_account_history_is_an_audit_kind():
    sources = "".join(path.read_text() for path in Path("identity").rglob("*.py") if "migrations" not in path.parts)
    actions = set(re.findall(r'AccountHistory\.note\(\s*"([a-z_.]+)"', sources))
    verbs = set(re.findall(r'_note_change\("([a-z_]+)"', sources))
    assert len(actions) > 5
    assert {*actions, *(f"oauth_client.{verb}" for verb in verbs)} <= audit.KINDS.keys()


def test_documentation_lists_each_audit_kind_with_class_and_activity():
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| (\d+, \d+) \|", DOCUMENTATION.read_text(), re.MULTILINE))
    assert rows == {kind: f"{facts.class_uid}, {facts.activity_id}" for kind, facts in audit.KINDS.items()}


@pytest.fixture
def log(lines, tmp_path):
    """Return a log with ten audit lines between other lines, as a container runtime stores it."""
    for number in range(10):
        audit.emit_now("log_out", user=audit.ocsf_user(number))
    texts = [f"2026-11-28T20:00:0{number}Z stderr F {text}" for number, text in enumerate(lines.texts)]
    other = '{"time":"2026-11-28","logger":"platform.access","message":"GET / 200"}'
    file = tmp_path / "log"

    def write(change=lambda texts: texts):
        file.write_text("\n".join([other, *change(list(texts)), other, ""]))
        return str(file)

    return write


def verified(file, **options):
    answer = StringIO()
    call_command("verify", file, "--json", stdout=answer, stderr=StringIO(), **options)
    return json.loads(answer.getvalue())


def test_verify_command_accepts_a_complete_audit_log_without_a_ledger_key(log):
    assert verified(log())["verified"] is True
    # The log contains the lines twice.
    assert verified(log(lambda texts: [*texts[:5], texts[4], *texts[5:]]))["verified"] is True
    # The log contains three of the lines again.
    assert verified(log(lambda texts: [*texts[:5], *texts[2:]]))["verified"] is True
    with pytest.raises(CommandError, match="--ledger-key does not apply"):
        verified(log(), ledger_key="x")


def test_verify_command_finds_audit_lines_after_many_unrelated_lines(log, tmp_path):
    whole = tmp_path / "whole"
    with whole.open("wb") as file:
        file.write(b"2026-11-28 GET / 200\n" * 900_000)
        file.write(Path(log()).read_bytes())
    assert whole.stat().st_size > 18_000_000
    assert verified(str(whole))["kind"] == "audit"


CHANGES = [
    (lambda texts: [*texts[:4], *texts[6:]], "whole up to line 4, .*; lines 5 to 6 are missing"),
    (lambda texts: texts[1:], "no line can be checked; lines 1 to 1 are missing"),
    (lambda texts: [*texts[:3], texts[4], texts[3], *texts[5:]], "whole up to line 3, .*; lines 4 to 4"),
    (
        lambda texts: [*texts[:5], texts[5].replace('"uid":"5"', '"uid":"6"'), *texts[6:]],
        "whole up to line 5, .*; line 7 doesn't follow from line 6",
    ),
    (lambda texts: [*texts[:5], texts[5][:-9], *texts[6:]], "line 7 of the file is not readable"),
    (
        lambda texts: [*texts, texts[2].replace('"uid":"2"', '"uid":"6"')],
        "whole up to line 10, .*; line 3 follows line 10",
    ),
    (
        lambda texts: [*texts[:9], re.sub(r'"time":\d+', '"time":99999999999999999', texts[9])],
        "line 11 of the file is not readable",
    ),
    (lambda texts: [*texts, re.sub(r'"sequence":\d+', '"sequence":-1', texts[9])], "line 12 of the file"),
]


def test_verify_command_rejects_a_changed_audit_log(log):
    for change, sentence in CHANGES:
        report = StringIO()
        with pytest.raises(CommandError, match=r"audit lines have \d+ fault") as refusal:
            call_command("verify", log(change), stdout=StringIO(), stderr=report)
        assert refusal.value.returncode == 1, (change, sentence)
        assert re.search(sentence, report.getvalue()), report.getvalue()


def test_readable_audit_line_contains_only_the_event(monkeypatch):
    lines = []
    handler = logging.Handler()
    handler.emit = lines.append
    monkeypatch.setattr(audit.logger, "handlers", [handler])
    audit.emit_now("log_in.failed", user=audit.ocsf_user("7%s"))
    assert re.fullmatch(r"\d\d:\d\d:\d\d audit    log_in\.failed", ReadableLines().format(lines[0]))
