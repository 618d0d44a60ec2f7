"""The audit stream: what is written, that each line is valid, and that `verify` finds lost and changed lines.

`ocsf.json` is an excerpt of the JSON Schemas of four classes of OCSF 1.5.0 (Apache-2.0), as the package
`ocsf-json-schema` 1.2.0 generates them: the members that our lines have, and every constraint on them.
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
from django.urls import reverse

from config.core import audit
from config.core.groups import SUPPORT
from config.ops.logs import AuditLines, ReadableLines
from credit.core.machine import APPROVED, UNDER_REVIEW
from tests.api import ApiClient, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm
from tests.factories import ApplicationFactory, UserFactory
from tests.races import at_once

SCHEMAS = json.loads((Path(__file__).parent / "ocsf.json").read_text())
OURS = {"logger", "process", "sequence", "prev"}
UNMAPPED = {"account", "client", "entries", "masked", "provider", "settings", "status", "subject"}
DOCUMENTATION = Path("docs/operate/audit.md")


class Lines(logging.Handler):
    """Holds the lines that were written."""

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
    audit.CHAIN.begin_anew()
    return handler


@pytest.fixture
def committing(django_capture_on_commit_callbacks):
    """Return a context that runs what waits for the commit at its end."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


def check_line(event):
    """Fail unless a line has a closed set of members, and is valid by OCSF without those of the chain."""
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


def test_start_line_has_the_settings_and_no_secret(lines, settings):
    audit.emit_start()
    assert checked(lines) == ["process.started"]
    (event,) = lines.events()
    assert (event["sequence"], event["prev"]) == (1, audit.NO_LINE)
    assert event["unmapped"]["settings"]["REVIEW_POLICY"] == settings.REVIEW_POLICY
    assert settings.SECRET_KEY not in lines.texts[0]


def test_log_in_failure_and_log_out_are_written(db, lines, committing):
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


def test_page_session_writes_its_log_in_and_its_end(db, lines, committing, client):
    user = UserFactory()
    with committing():
        client.force_login(user)
        client.logout()
    assert checked(lines) == ["log_in", "log_out"]


def test_keys_and_groups_are_written_with_their_ids(db, lines, committing):
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


def test_audited_actions_give_a_valid_line_each_without_names_and_passwords(db, lines, committing, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": None}  # a refused attempt is no failed log-in
    marker, rounds = "mk-jane", int(os.environ.get("AUDITED", "40")) // 8
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


def test_unmasking_is_written_without_its_reason(db, lines, committing):
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


def test_decision_of_two_reviewers_is_proposed_confirmed_and_made(db, lines, committing, settings):
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
    made = lines.events()[-1]
    assert (made["entity"]["uid"], made["unmapped"]["status"]) == (str(application.pk), APPROVED)
    assert "Ms. Reviewer" not in "".join(lines.texts)


def test_request_to_delete_an_account_is_written(db, lines, committing, client):
    user = UserFactory()
    user.set_password("a right password")
    user.save()
    with committing():
        client.post("/account/login", {"login": user.username, "password": "a right password"})
        asked = client.post("/account/privacy").headers["Location"]
        client.post(asked, {"password": "a right password", "next": "/account/privacy"})
        for action in ("erase", "keep"):
            client.post("/account/privacy", {"do": action})
    assert checked(lines)[0] == "log_in"
    assert checked(lines)[-2:] == ["account.deletion_requested", "account.deletion_canceled"]


def test_rolled_back_event_is_not_written(committed, lines):
    with transaction.atomic():
        audit.emit("log_out", user=audit.person(7))
        transaction.set_rollback(True)
    with transaction.atomic():
        audit.emit("log_out", user=audit.person(8))
        assert not lines.texts
    assert [event["user"]["uid"] for event in lines.events()] == ["8"]


def test_lines_of_concurrent_threads_form_one_chain(lines):
    def write():
        for number in range(250):
            audit.emit_now("log_out", user=audit.person(number))

    at_once(*[write] * 8)
    assert len(checked(lines)) == 2_000


def test_forked_process_begins_a_chain_of_its_own(lines):
    audit.emit_now("log_out", user=audit.person(1))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        audit.emit_now("log_out", user=audit.person(2))
        os.write(writer, lines.texts[-1].encode())
        os._exit(0)
    os.waitpid(child, 0)
    event = json.loads(os.read(reader, 65_536))
    assert (event["sequence"], event["prev"]) == (1, audit.NO_LINE)
    assert event["process"] != lines.events()[0]["process"]


def test_unknown_kind_is_refused_before_anything_is_written(lines):
    with pytest.raises(KeyError):
        audit.emit_now("coffee.made")
    assert not lines.texts


def test_handler_writes_each_line_to_standard_error_and_counts_it(monkeypatch, capfd):
    counted = []
    counter = type("Counter", (), {"inc": lambda _self: counted.append(1)})()
    monkeypatch.setattr("config.ops.logs.counts_of_process", type("Counts", (), {"audit_lines": counter}))
    handler = AuditLines()
    handler.setFormatter(logging.Formatter("%(message)s"))
    monkeypatch.setattr("config.ops.logs.sys.stderr", type("Stream", (), {"closed": False, "fileno": lambda _s: 2})())
    monkeypatch.setattr(audit.logger, "handlers", [handler])
    audit.emit_now("log_out", user=audit.person("7%s"))
    assert json.loads(capfd.readouterr().err)["user"]["uid"] == "7%s"
    assert counted == [1]


def test_every_action_of_the_history_of_accounts_is_a_kind():
    sources = "".join(path.read_text() for path in Path("identity").rglob("*.py") if "migrations" not in path.parts)
    actions = set(re.findall(r'AccountHistory\.note\(\s*"([a-z_.]+)"', sources))
    verbs = set(re.findall(r'_note_change\("([a-z_]+)"', sources))
    assert len(actions) > 5
    assert {*actions, *(f"oauth_client.{verb}" for verb in verbs)} <= audit.KINDS.keys()


def test_documentation_lists_each_kind_with_its_class_and_activity():
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| (\d+, \d+) \|", DOCUMENTATION.read_text(), re.MULTILINE))
    assert rows == {kind: f"{facts.class_uid}, {facts.activity_id}" for kind, facts in audit.KINDS.items()}


@pytest.fixture
def log(lines, tmp_path):
    """A log with ten audit lines between others, as a container's runtime stores it."""
    for number in range(10):
        audit.emit_now("log_out", user=audit.person(number))
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


def test_verify_accepts_a_whole_log(log):
    assert verified(log())["verified"] is True
    assert verified(log(lambda texts: [*texts[:5], texts[4], *texts[5:]]))["verified"] is True  # delivered twice
    assert verified(log(lambda texts: [*texts[:5], *texts[2:]]))["verified"] is True  # three of them together


def test_verify_finds_audit_lines_after_much_else(log, tmp_path):
    whole = tmp_path / "whole"
    with whole.open("wb") as file:
        file.write(b"2026-11-28 GET / 200\n" * 900_000)
        file.write(Path(log()).read_bytes())
    assert whole.stat().st_size > 18_000_000
    assert verified(str(whole))["kind"] == "audit"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
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
    ],
)
def test_verify_rejects_a_log_that_was_changed(log, change, sentence):
    report = StringIO()
    with pytest.raises(CommandError, match=r"audit lines have \d+ fault") as refusal:
        call_command("verify", log(change), stdout=StringIO(), stderr=report)
    assert refusal.value.returncode == 1
    assert re.search(sentence, report.getvalue()), report.getvalue()


def test_verify_of_a_log_has_no_key(log):
    with pytest.raises(CommandError, match="--ledger-key does not apply"):
        verified(log(), ledger_key="x")


def test_a_developer_reads_the_event_alone(monkeypatch):
    lines = []
    handler = logging.Handler()
    handler.emit = lines.append
    monkeypatch.setattr(audit.logger, "handlers", [handler])
    audit.emit_now("log_in.failed", user=audit.person("7%s"))
    assert re.fullmatch(r"\d\d:\d\d:\d\d audit    log_in\.failed", ReadableLines().format(lines[0]))
