"""`manage.py serve_witness`: a real server, from its first line to SIGTERM, and SIGKILL where it hurts."""

import contextlib
import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from ledger.checkpoint import open_note
from ledger.cosignature import WitnessVerifier
from ledger.policy import Policy
from tests.ledger.witnesses import LOG, leaves_of, request_of
from tests.processes import PATIENCE_SECONDS, ROOT, free_port, listens, run_python, wait_until

KEY = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="


@contextlib.contextmanager
def witness(tmp_path, *arguments, **environment):
    """Serve; give the address and what it printed first. Ends it with SIGTERM."""
    logs = tmp_path / "logs"
    logs.write_text(f"# known logs\n{LOG.verifier.vkey}\n")
    port = free_port()
    env = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), "WITNESS_PORT": str(port), **environment}
    command = [sys.executable, "manage.py", "serve_witness", "--json", "--logs", str(logs), *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        shown = json.loads(process.stdout.readline())
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: listens(port) or process.poll() is not None)
        yield address, shown
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def send(address, body):
    """POST to add-checkpoint; status and text."""
    request = urllib.request.Request(f"{address}/add-checkpoint", body, {"Content-Type": "text/plain"})
    try:
        with urllib.request.urlopen(request, timeout=99) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def test_it_prints_its_key_and_cosigns_until_it_is_told_to_end(tmp_path):
    with witness(tmp_path, "--name", "witness.example/w", "--key", KEY) as (address, shown):
        verifier = WitnessVerifier.from_vkey(shown["vkey"])
        assert (verifier.name, shown["logs"]) == ("witness.example/w", [LOG.verifier.vkey])
        body = request_of(0, leaves_of(5))
        status, lines = send(address, body)
        assert status == 200
        open_note(body.decode().partition("\n\n")[2] + lines, verifier)
        assert send(address, request_of(0, leaves_of(6))) == (409, "5\n")
        assert send(address, b"x" * 200_000)[0] == 413
    with witness(tmp_path, "--name", "witness.example/w", "--key", KEY) as (address, again):
        assert again["vkey"] == shown["vkey"]
        assert send(address, request_of(5, leaves_of(6)))[0] == 200


def test_a_body_in_chunks_is_read_like_any_other(tmp_path):
    with witness(tmp_path) as (address, _):
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=99)
        connection.request("POST", "/add-checkpoint", iter([request_of(0, leaves_of(5))]), encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()


def test_killed_where_it_kept_and_has_not_signed_it_goes_on_with_what_it_kept(tmp_path):
    hangs_up = pytest.raises((OSError, http.client.HTTPException))
    with witness(tmp_path, FAULT_POINT="witness_kept") as (address, _), hangs_up:
        send(address, request_of(0, leaves_of(5)))
    with witness(tmp_path) as (address, _):
        assert send(address, request_of(0, leaves_of(5, "fork"))) == (409, "5\n")
        assert send(address, request_of(5, leaves_of(5, "fork")))[0] == 409
        assert send(address, request_of(5, leaves_of(5)))[0] == 200


def run(tmp_path, *arguments, **environment):
    return run_python({"VAR_DIR": str(tmp_path), **environment}, "manage.py", "serve_witness", *arguments)


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--logs", "/nowhere"], os.EX_CONFIG, "WITNESS_LOGS='/nowhere' is no file of verifier keys"),
        (["--logs", "/dev/null"], os.EX_CONFIG, "WITNESS_LOGS='/dev/null' names no log."),
        (["--logs", "manage.py"], os.EX_CONFIG, "WITNESS_LOGS='manage.py' is no file of verifier keys: line 2"),
        (["--key", "short"], os.EX_CONFIG, "WITNESS_SIGNING_KEY is no Ed25519 key: set it to 32 random bytes"),
        (["--name", "a name"], os.EX_CONFIG, "WITNESS_NAME='a name' cannot name a witness"),
        (["--database", "/nowhere/at/all"], 1, "/nowhere/at/all cannot be used as a SQLite file"),
        (["--port", "99999"], 1, "Cannot listen on 127.0.0.1:99999"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(tmp_path, arguments, status, sentence):
    done = run(tmp_path, *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stderr
    assert sentence in done.stderr


def test_a_port_that_is_taken_is_one_sentence(tmp_path):
    with witness(tmp_path) as (address, _):
        done = run(tmp_path, "--port", address.rpartition(":")[2])
        assert (done.returncode, "Set WITNESS_PORT" in done.stderr) == (1, True)


def test_production_takes_key_and_logs_from_its_environment_alone(tmp_path):
    production = {
        "ENVIRONMENT": "production", "SECRET_KEY": secrets.token_urlsafe(64), "BASE_URL": "https://api.example/v1",
        "FIELD_ENCRYPTION_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "ALLOWED_HOSTS": "api.example",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db", "WITNESS_NAME": "witness.example/w",
    }  # fmt: skip
    assert "WITNESS_SIGNING_KEY is missing" in run(tmp_path, **production).stderr
    assert "WITNESS_LOGS is missing" in run(tmp_path, "--key", KEY, **production).stderr


def test_it_writes_a_policy_for_a_first_try(tmp_path):
    done = run(tmp_path, "--write-policy", str(tmp_path / "policy"), "--json")
    shown = json.loads(done.stdout.splitlines()[-1])
    policy = Policy.from_bytes((tmp_path / "policy").read_bytes())
    assert [one.verifier.vkey for one in policy.logs] == shown["logs"]
    assert [(one.verifier.vkey, one.url) for one in policy.witnesses] == [(shown["vkey"], shown["address"])]
    assert policy.is_met_by({"own"})
