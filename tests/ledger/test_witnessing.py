"""Test how witness cosignatures are requested, stored, and shown, with real and faulty witnesses over HTTP."""

import json
import threading
import time
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from config.ops.metrics import Scrape
from ledger import log, witnessing
from ledger.checkpoint import open_checkpoint, open_note, parse_note
from ledger.keys import signer
from ledger.models import Cosignature, WitnessOutcome
from ledger.policy import Policy
from ledger.proof_file import report_digest
from tests.ledger import foreign
from tests.ledger.conftest import assert_error, open_log, seal_reports
from tests.ledger.witnesses import Witness, cosigner, policy_of, serving

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def waiting_by(sleep):
    """Return a replacement of `time` for one module, so that the `sleep` of other threads does not change."""
    return SimpleNamespace(monotonic=time.monotonic, sleep=sleep)


@pytest.fixture
def make_asker(settings, tmp_path):
    """Return a function that configures witnesses at these URLs, or another policy, and returns an Asker."""
    created = []

    def ask_at(addresses, quorum="2", text=None):
        file = tmp_path / f"policy-{len(created)}"
        file.write_text(text or policy_of(addresses, quorum))
        created.append(file)
        settings.WITNESS_POLICY = str(file)
        return witnessing.Asker(witnessing.policy())

    return ask_at


@pytest.fixture
def three(tmp_path):
    """Yield the URLs of three running witnesses."""
    witnesses = [Witness(number) for number in (1, 2, 3)]
    with serving(*witnesses) as addresses:
        yield addresses


def run_round(asker):
    """Run a round for all witnesses, without their pauses."""
    for witness in asker._witnesses:
        witness.not_before = 0.0
    return asker.ask(now=timezone.now())


def scripted(*replies):
    """Return a witness that returns each (status, media type, text) in order, and repeats the last response."""
    left = list(replies)

    def application(environ, start_response):
        environ["wsgi.input"].read()
        status, media_type, text = left.pop(0) if len(left) > 1 else left[0]
        start_response(f"{status} Whatever", [("Content-Type", media_type)])
        return [text.encode() if isinstance(text, str) else text]

    return application


def cosigners_of(note):
    return sorted(item.name for item in parse_note(note)[1])


ALL = ["ledger.example/log", "witness.example/w1", "witness.example/w2", "witness.example/w3"]


def test_newest_checkpoint_is_cosigned_and_returned_with_every_proof(client, make_asker, three):
    asker = make_asker(three)
    assert run_round(asker) == {"cosigned": 0, "failed": 0}
    for size in (1, 2, 40):
        seal_reports([f"report {size} {number}" for number in range(size)])
        assert run_round(asker) == {"cosigned": 3, "failed": 0}
        note = client.get("/checkpoint").content.decode()
        assert cosigners_of(note) == ALL
        for number in (1, 2, 3):
            open_note(note, cosigner(number).verifier)
    proof = client.get(f"/proof/{report_digest('report 2 1').hex()}").json()
    file = client.get(f"/proof/{proof['hash']}.tlog-proof").content.decode()
    assert cosigners_of(proof["checkpoint"]) == cosigners_of(file.partition("\n\n")[2]) == ALL
    assert foreign.accepts_proof_file(file, bytes.fromhex(proof["leaf_hash"]), signer().verifier.vkey)
    out = StringIO()
    call_command("ledger_proof", proof["hash"], stdout=out)
    assert out.getvalue() == file
    call_command("verify_ledger", stdout=StringIO())


def test_witness_gets_one_request_per_checkpoint_until_its_cosignature_is_old(make_asker, three, monkeypatch):
    seal_reports(["a"])
    asker = make_asker(three)
    assert run_round(asker)["cosigned"] == 3
    assert run_round(asker) == {"cosigned": 0, "failed": 0}
    monkeypatch.setattr(witnessing, "_AGAIN_SECONDS", -1)
    monkeypatch.setattr("tests.ledger.witnesses.time.time", lambda: time.time_ns() / 1e9 + 5)
    assert run_round(asker)["cosigned"] == 3
    assert Cosignature.objects.count() == 6
    assert len(cosigners_of(log.cosigned_checkpoint(log.read_head()))) == 4


def test_log_without_a_policy_contacts_no_witness(client, monkeypatch):
    anchored = client.anchor("hello").json()
    assert cosigners_of(client.get("/checkpoint").content.decode()) == ["ledger.example/log"]
    monkeypatch.setattr(witnessing, "time", waiting_by(lambda _seconds: pytest.fail("the request waited")))
    assert_error(client.get(f"/proof/{anchored['hash']}?witnessed=1"), 503, "E7003")
    with pytest.raises(ImproperlyConfigured, match="WITNESS_POLICY is missing"):
        call_command("ask_witnesses", once=True, stdout=StringIO())


REFUSALS = [
    ((400, "text/plain", "no\n"), "bad_request"), ((403, "text/plain", "no\n"), "unknown_key"),
    ((404, "text/plain", "no\n"), "unknown_log"), ((422, "text/plain", "no\n"), "inconsistent"),
    ((409, "text/plain", "no\n"), "conflict"), ((409, "text/x.tlog.size", "3\n"), "conflict"),
    ((409, "text/x.tlog.size", "0\n"), "moving"), ((409, "text/x.tlog.size", "1\n"), "moving"),
    ((409, "text/x.tlog.size", "77\n"), "ahead"), ((409, "text/x.tlog.size", "-1\n"), "unreadable"),
    ((409, "text/x.tlog.size", b"\xff"), "unreadable"), ((500, "text/plain", "no\n"), "status_500"),
    ((302, "text/plain", "no\n"), "status_302"), ((200, "text/plain", ""), "unreadable"),
    ((200, "text/plain", "hello\n"), "unreadable"), ((200, "text/plain", b"\xff\n"), "unreadable"),
    ((200, "text/plain", "x" * 70_000), "silent"),
]  # fmt: skip


def test_checkpoint_that_a_witness_rejects_is_logged_and_counted(make_asker, caplog):
    seal_reports(["a", "b", "c"])
    replies = []

    def newest_reply(environ, start_response):
        return scripted(replies[-1])(environ, start_response)

    with serving(newest_reply) as addresses:
        for reply, outcome in REFUSALS:
            replies.append(reply)
            caplog.clear()
            asker = make_asker(addresses, "1")
            assert run_round(asker) == {"cosigned": 0, "failed": 1}
            assert f"witness w1 ({outcome})" in caplog.text, reply
            caplog.clear()
            run_round(asker)
            assert "witness w1" not in caplog.text  # The error is logged once.
            assert WitnessOutcome.objects.get().outcome == outcome
    assert not Cosignature.objects.exists()


def test_metrics_list_rejecting_witnesses_and_the_age_of_cosignatures(committed, make_asker, three, tmp_path):
    seal_reports(["a"])
    with serving(scripted((404, "text/plain", "no\n"))) as [stranger]:
        run_round(make_asker([*three[:2], stranger]))
        text = Scrape(tmp_path).text().decode()
    assert 'platform_ledger_witness_refuses{outcome="unknown_log",witness="w3"} 1.0' in text
    assert 'platform_ledger_witness_cosigned_seconds{witness="w1"} ' in text
    assert 'witness_cosigned_seconds{witness="w3"}' not in text
    assert 'witness_refuses{outcome="cosigned"' not in text


def test_internal_error_for_a_witness_does_not_prevent_cosignatures_of_other_witnesses(make_asker, three, monkeypatch):
    seal_reports(["a"])
    keep = witnessing.Asker._store_cosignature

    def poisoned(asker, state, *arguments):
        if state.witness.name == asker._witnesses[0].witness.name:
            raise ZeroDivisionError
        keep(asker, state, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(witnessing.Asker, "_store_cosignature", poisoned)
        assert run_round(make_asker(three)) == {"cosigned": 2, "failed": 1}
        assert set(WitnessOutcome.objects.values_list("outcome", flat=True)) == {"cosigned", "fault"}
        with pytest.raises(CommandError, match="1 witnesses did not cosign"):
            call_command("ask_witnesses", once=True, stdout=StringIO())
    asker = make_asker(three)
    assert run_round(asker)["cosigned"] == 1
    seal_reports(["b"])
    request = witnessing._request

    def broken(old_size, head):
        if old_size == 0:
            raise ZeroDivisionError
        return request(old_size, head)

    monkeypatch.setattr(witnessing, "_request", broken)
    with open_log() as cursor:
        forgotten = asker._witnesses[0].witness.verifier.vkey
        cursor.execute("DELETE FROM ledger_cosignature WHERE witness = %s", [forgotten])
    assert run_round(asker) == {"cosigned": 2, "failed": 1}
    monkeypatch.undo()
    with open_log() as cursor:
        cursor.execute("DELETE FROM ledger_cosignature")
    seal_reports(["c"])
    assert run_round(make_asker(three)) == {"cosigned": 3, "failed": 0}, "new cosignatures are requested"


def test_witness_with_an_endless_or_missing_response_does_not_delay_other_witnesses(make_asker, three, monkeypatch):
    released, outlasted = threading.Event(), []

    def endless(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield b"x"
        outlasted.append(released.wait(120))

    monkeypatch.setattr(witnessing, "ASK_SECONDS", 0.3)
    seal_reports(["a"])
    with serving(endless) as [slow]:
        asker = make_asker([three[0], slow, "http://127.0.0.1:9"])
        assert run_round(asker) == {"cosigned": 1, "failed": 2}
        seal_reports(["b"])
        # The worker calls a slow or unreachable witness again later, not every second.
        assert asker.ask(now=timezone.now()) == {"cosigned": 1, "failed": 0}
        assert outlasted == []
        released.set()


def test_invalid_cosignatures_of_a_witness_are_not_stored(make_asker):
    seal_reports(["a", "b", "c"])
    text = log.read_head().checkpoint.partition("\n\n")[0] + "\n"
    now = int(time.time())
    foreigner = cosigner(6).cosign(text, now).line()
    bad_lines = [foreigner, cosigner(1).cosign(text + "x\n", now).line(), cosigner(1).cosign(text, now + 4_000).line()]
    for line in bad_lines:
        with serving(scripted((200, "text/plain", line))) as addresses:
            assert run_round(make_asker(addresses, "1")) == {"cosigned": 0, "failed": 1}
    good = cosigner(1).cosign(text, now - 60).line()
    with serving(scripted((200, "text/plain", foreigner + good))) as addresses:
        assert run_round(make_asker(addresses, "1"))["cosigned"] == 1
    assert cosigners_of(log.cosigned_checkpoint(log.read_head())) == ["ledger.example/log", "witness.example/w1"]


def test_ask_witnesses_command_prints_counts_and_fails_if_a_cosignature_is_missing(make_asker, three):
    seal_reports(["a"])
    make_asker(three)
    out = StringIO()
    call_command("ask_witnesses", once=True, as_json=True, stdout=out)
    assert json.loads(out.getvalue()) == {"cosigned": 3, "failed": 0}
    seal_reports(["b"])
    with serving(scripted((403, "text/plain", "no"))) as addresses:
        make_asker(addresses, "1")
        with pytest.raises(CommandError, match="1 witnesses did not cosign"):
            call_command("ask_witnesses", once=True, stdout=StringIO())


# --- Waiting for a quorum ------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(witnessing, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(witnessing, "_LOOK_SECONDS", 0.02)


@pytest.mark.parametrize("suffix", ["", ".tlog-proof"])
def test_witnessed_proof_uses_the_newest_checkpoint_with_a_quorum(
    client, make_asker, three, impatient, suffix, monkeypatch
):
    first = client.anchor("first").json()
    asker = make_asker(three)
    run_round(asker)
    second = client.anchor("second").json()
    shown = client.get(f"/proof/{first['hash']}{suffix}?witnessed=1")
    assert shown.status_code == 200
    note = shown.content.decode().partition("\n\n")[2] if suffix else shown.json()["checkpoint"]
    assert open_checkpoint(note, signer().verifier).size == 1
    assert cosigners_of(note) == ALL
    assert_error(client.get(f"/proof/{second['hash']}{suffix}?witnessed=1"), 503, "E7003")
    assert client.get(f"/proof/{second['hash']}{suffix}?witnessed=0").status_code == 200
    # The quorum is reached while the request waits.
    monkeypatch.setattr(witnessing, "time", waiting_by(lambda _seconds: run_round(asker)))
    assert client.get(f"/proof/{second['hash']}{suffix}?witnessed=1").status_code == 200


def test_damaged_cosignature_is_omitted_and_other_cosignatures_can_form_a_quorum(
    client, make_asker, three, impatient, caplog
):
    anchored = client.anchor("first").json()
    run_round(make_asker(three))
    vkey = cosigner(1).verifier.vkey
    for column, value in (("signature", bytes(64)), ("timestamp", 1), ("witness", "no verifier key")):
        log._verified_line.cache_clear()
        caplog.clear()
        stored = Cosignature.objects.values_list(column, flat=True).get(witness=vkey)
        change = f"UPDATE ledger_cosignature SET {column} = %s WHERE witness = %s"
        with open_log() as cursor:
            cursor.execute(change, [value, vkey])
        shown = client.get(f"/proof/{anchored['hash']}?witnessed=1")
        assert shown.status_code == 200
        assert cosigners_of(shown.json()["checkpoint"]) == [name for name in ALL if name != "witness.example/w1"]
        assert client.get("/checkpoint").status_code == 200
        assert "is damaged" in caplog.text
        with open_log() as cursor:
            cursor.execute(change, [stored, value if column == "witness" else vkey])


def test_witnessed_proof_request_waits_for_a_quorum_outside_of_a_transaction(
    committed, client, make_asker, three, monkeypatch
):
    anchored = client.anchor("first").json()
    make_asker(three)
    in_transaction = []
    monkeypatch.setattr(witnessing, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(
        witnessing, "time", waiting_by(lambda _seconds: in_transaction.append(connection.in_atomic_block))
    )
    assert_error(client.get(f"/proof/{anchored['hash']}?witnessed=1"), 503, "E7003")
    assert set(in_transaction) == {False}


def test_witnessed_proof_requests_above_the_limit_of_waiting_requests_are_rejected(
    client, make_asker, three, monkeypatch
):
    anchored = client.anchor("first").json()
    make_asker(three)
    for _ in range(witnessing.WAITING_MAX):
        assert witnessing._waiting.acquire(blocking=False)
    monkeypatch.setattr(witnessing, "time", waiting_by(lambda _seconds: pytest.fail("the request waited")))
    try:
        response = client.get(f"/proof/{anchored['hash']}?witnessed=1")
        assert_error(response, 503, "E7003")
        assert response.headers["Retry-After"] == "5"
    finally:
        for _ in range(witnessing.WAITING_MAX):
            witnessing._waiting.release()


def test_unreachable_witness_does_not_affect_the_quorum_of_older_entries(client, make_asker, three, impatient):
    first = client.anchor("first").json()
    run_round(make_asker(three, "all"))
    asker = make_asker([three[0], "http://127.0.0.1:9", "http://127.0.0.1:9/x"], "all")
    for number in range(3):
        last = client.anchor(f"more {number}").json()
        run_round(asker)
    assert client.get(f"/proof/{first['hash']}?witnessed=1").status_code == 200
    assert_error(client.get(f"/proof/{last['hash']}?witnessed=1"), 503, "E7003")
    make_asker([], text="quorum none\n")
    assert client.get(f"/proof/{last['hash']}?witnessed=1").status_code == 200


def test_invalid_witnessed_parameter_is_rejected(client):
    anchored = client.anchor("first").json()
    for value in ("2", "true", "", "1&witnessed=1", "%00"):
        assert_error(client.get(f"/proof/{anchored['hash']}?witnessed={value}"), 400, "E1001")


# --- Peers and the published policy ---------------------------------------------------------------------------------


def test_health_counts_witnesses_of_the_last_hour_as_peers(committed, client, make_asker, three):
    seal_reports(["a"])
    asker = make_asker(three)
    assert client.get("/health").json()["peers"] == 0
    run_round(asker)
    assert client.get("/health").json()["peers"] == client.get("/stats").json()["peers"] == 3
    make_asker(three[:2])
    assert client.get("/health").json()["peers"] == 2
    old = timezone.now() + timedelta(seconds=witnessing.PEER_SECONDS + 5)
    assert witnessing.count_peers(old) == 0


def test_published_policy_lists_the_log_the_witnesses_and_the_quorum(client, make_asker, three, tmp_path):
    text = client.get("/policy").content.decode()
    assert text == f"log {signer().verifier.vkey}\nquorum none\n"
    make_asker(three)
    policy = Policy.from_bytes(client.get("/policy").content)
    assert [item.verifier for item in policy.logs] == [signer().verifier]
    assert (len(policy.witnesses), policy.groups["all-of-them"].threshold) == (3, 2)
    assert all(witness.url is None for witness in policy.witnesses)


def test_invalid_witness_policy_file_is_reported_in_one_sentence(settings, tmp_path):
    bad_address = "requires an address that is an http or https prefix."
    for content, sentence in (
        (None, "cannot be read (No such file or directory)."),
        (b"quorum all\n", "must be a policy in C2SP's format: line 1: the quorum 'all' is not defined above."),
        (b"\xff\n", "must be a policy in C2SP's format: line 1: "),
        *((policy_of([address], "1").encode(), bad_address)
          for address in ("ftp://w", "http://w:0", "http://[w", "http://w?x=1")),
    ):  # fmt: skip
        settings.WITNESS_POLICY = str(tmp_path / "policy")
        if content is not None:
            (tmp_path / "policy").write_bytes(content)
        with pytest.raises(ImproperlyConfigured) as caught:
            witnessing.policy()
        assert sentence in str(caught.value)
        assert str(caught.value).startswith("WITNESS_POLICY=")
        assert "\n" not in str(caught.value)
