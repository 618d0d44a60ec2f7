"""Test the commands `ledger_proof`, `verify` for a proof, and `erase_subject`."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from config.core import audit
from ledger.checkpoint import Signer
from ledger.keys import signer
from ledger.models import Entry
from ledger.proof_file import report_digest
from tests.ledger.conftest import OTHER_SIGNING_KEY, seal_reports
from tests.ledger.witnesses import LOG, cosigner, policy_of
from tests.payments.http_double import HANG_UP, HttpDouble, Reply

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


@pytest.fixture
def files(tmp_path):
    """Return a stored proof and its report."""
    seal_reports([f"report {number}" for number in range(9)])
    out = StringIO()
    call_command("ledger_proof", report_digest("report 5").hex(), stdout=out)
    proof, report = tmp_path / "a.tlog-proof", tmp_path / "report"
    proof.write_text(out.getvalue())
    report.write_bytes(b"report 5")
    return proof, report


def test_ledger_proof_command_prints_a_proof_only_for_an_anchored_report(client, files):
    digest = report_digest("report 5").hex()
    assert files[0].read_text() == client.get(f"/proof/{digest}.tlog-proof").content.decode()
    for arguments in (["zz"], ["ab" * 32], [digest, "--index", "7"]):
        with pytest.raises(CommandError):
            call_command("ledger_proof", *arguments)


def test_verify_command_accepts_only_an_unchanged_proof_and_report_offline(files, django_assert_num_queries):
    out = StringIO()
    with django_assert_num_queries(0):
        call_command("verify", str(files[0]), "--report", str(files[1]), "--json", stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue())["verified"] is True
    files[1].write_bytes(b"report 5\n")
    errors = StringIO()
    with pytest.raises(CommandError, match="does not hold"):
        call_command("verify", str(files[0]), "--report", str(files[1]), stderr=errors)
    assert "FAIL inclusion" in errors.getvalue()
    for rest in (b"", b"\n\xff\xfe", b"\nextra hello"):
        files[0].write_bytes(b"c2sp.org/tlog-proof@v1" + rest)
        with pytest.raises(CommandError):
            call_command("verify", str(files[0]), "--report", str(files[1]), stderr=StringIO())


def test_verify_command_requires_only_the_public_key_of_the_ledger(files, settings):
    vkey = signer().verifier.vkey
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "other.example", OTHER_SIGNING_KEY
    arguments = ["verify", str(files[0]), "--report", str(files[1])]
    call_command(*arguments, "--ledger-key", vkey, stdout=StringIO(), stderr=StringIO())
    with pytest.raises(CommandError, match="pass another with --ledger-key"):
        call_command(*arguments, stdout=StringIO(), stderr=StringIO())


def test_verify_command_uses_the_local_key_with_the_origin_of_the_newest_checkpoint(files, settings):
    vkey = signer().verifier.vkey
    settings.LEDGER_ORIGIN = "127.0.0.1:9999"
    out = StringIO()
    call_command("verify", str(files[0]), "--report", str(files[1]), "--json", stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue())["ledger_key"] == vkey


def test_verify_command_fetches_the_key_from_the_ledger_if_no_local_key_exists(files, settings, tmp_path):
    vkey = signer().verifier.vkey
    settings.LEDGER_SIGNING_KEY, settings.VAR_DIR = "", tmp_path / "none"
    out = StringIO()
    arguments = ["verify", str(files[0]), "--report", str(files[1]), "--json"]

    class Ledger(HttpDouble):
        def answer(self, request):
            return Reply(content={"vkey": vkey}) if request.path == "/key" else HANG_UP

    with Ledger() as configured:
        settings.CHAIN_URL = configured.url
        call_command(*arguments, stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue())["ledger_key"] == vkey
    with pytest.raises(CommandError, match="/key returns none: give the log's key with --ledger-key"):
        call_command(*arguments, stdout=out, stderr=StringIO())
    assert not (tmp_path / "none").exists()


@pytest.fixture
def cosigned_files(files, tmp_path):
    """Return a function that writes a policy, and returns arguments to verify a proof with 1 of 3 cosignatures."""
    proof, report = files
    text = proof.read_text().partition("\n\n")[2].partition("\n\n")[0] + "\n"
    proof.write_text(proof.read_text() + cosigner(1).cosign(text, 1_700_000_000).line())

    def arguments(quorum, log=None):
        policy = tmp_path / "policy"
        policy.write_text(policy_of(["http://w"] * 3, quorum, log or signer().verifier))
        return ["verify", str(proof), "--report", str(report), "--policy", str(policy)]

    return arguments


def test_verify_command_with_a_witness_policy_requires_a_quorum_of_valid_cosignatures(cosigned_files, files, settings):
    settings.LEDGER_ORIGIN, settings.LEDGER_SIGNING_KEY = "other.example", OTHER_SIGNING_KEY
    errors, out = StringIO(), StringIO()
    call_command(*cosigned_files("1", LOG.verifier), "--json", stdout=out, stderr=errors)
    assert json.loads(out.getvalue())["ledger_key"] == LOG.verifier.vkey
    assert "ok   witnesses: 1 of 3 witnesses cosigned: w1 at 2023-11-14 22:13:20 UTC." in errors.getvalue()
    with pytest.raises(CommandError, match="does not hold"):
        call_command(*cosigned_files("2", LOG.verifier), stdout=StringIO(), stderr=errors)
    assert "FAIL witnesses: 1 of 3" in errors.getvalue()
    good = files[0].read_text()
    files[0].write_text(good[:-6] + ("AA==\n" if good[-6:] != "AA==\n" else "BB==\n"))
    with pytest.raises(CommandError):
        call_command(*cosigned_files("1", LOG.verifier), stdout=StringIO(), stderr=errors)


def test_verify_command_with_an_invalid_or_foreign_witness_policy_fails(cosigned_files, tmp_path):
    other = Signer("other.example/log", LOG.private_key).verifier
    with pytest.raises(CommandError, match="does not hold"):
        call_command(*cosigned_files("1", other), stdout=StringIO(), stderr=StringIO())
    arguments = cosigned_files("1")
    (tmp_path / "policy").write_text("quorum\n")
    with pytest.raises(CommandError, match="must be a policy in C2SP's format: line 1: a quorum line has"):
        call_command(*arguments, stdout=StringIO(), stderr=StringIO())


def test_erasure_of_a_ledger_subject_does_not_invalidate_proofs(client, files):
    seal_reports(["of somebody else"], user="43")
    hash_of = report_digest("report 5").hex()
    out = StringIO()
    call_command("erase_subject", "42", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"user_id": "42", "entries": 9}
    record = client.get(f"/hash/{hash_of}").json()
    assert (record["verified"], record["user_id"], record["report_type"]) == (True, "erased", "erased")
    assert client.get("/user/42/hashes").json()["total"] == 0
    assert client.get("/user/43/hashes").json()["total"] == 1
    call_command("verify", str(files[0]), "--report", str(files[1]), stdout=StringIO(), stderr=StringIO())
    call_command("erase_subject", "42", "--json", stdout=out)
    assert not Entry.objects.filter(user_id="42").exists()
    again = client.anchor("report 5").json()
    assert (again["duplicate"], again["index"]) == (False, 10), "the report can be anchored again"


def test_erasure_of_a_ledger_subject_is_audited_once_without_the_user_id(
    files, monkeypatch, django_capture_on_commit_callbacks
):
    events = []
    monkeypatch.setattr(audit.CHAIN, "write", events.append)
    with django_capture_on_commit_callbacks(execute=True):
        for _twice in range(2):
            call_command("erase_subject", "42", stdout=StringIO())
    assert [event["metadata"]["event_code"] for event in events] == ["erasure"]
    assert events[0]["unmapped"] == {"entries": 9}
    assert events[0]["entity"] == {"type": "ledger.entry", "name": "ledger.entry"}


def test_backup_manifest_check_requires_the_guard_file_only_for_a_log_with_entries(settings, tmp_path):
    settings.LEDGER_GUARD_FILE = tmp_path / "guard"
    file = tmp_path / "manifest.json"

    def write_manifest():
        out = StringIO()
        call_command("backup_manifest", as_json=True, stdout=out)
        file.write_text(out.getvalue().splitlines()[-1])

    write_manifest()
    call_command("backup_manifest", check=file, stdout=StringIO())
    seal_reports(["a"])
    write_manifest()
    call_command("backup_manifest", check=file, stdout=StringIO())
    settings.LEDGER_GUARD_FILE.unlink()
    with pytest.raises(CommandError, match="is missing or damaged"):
        call_command("backup_manifest", check=file, stdout=StringIO())
