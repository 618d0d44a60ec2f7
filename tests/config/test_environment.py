"""What the environment may not say: the process ends with one sentence, and never with a traceback."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.payments.wallet_support import ADDRESS, MISTYPED_ADDRESS
from tests.processes import ROOT, free_port, silent_port

pytestmark = pytest.mark.slow  # each starts a process

PRODUCTION = {
    "ENVIRONMENT": "production",
    "SECRET_KEY": "Zq7-this-is-a-key-of-a-test-and-of-nothing-else-0123456789",
    "FIELD_ENCRYPTION_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "ALLOWED_HOSTS": "platform.example",
    "BASE_URL": "https://platform.example/v1",
    "DATABASE_URL": "sqlite://:memory:",
}


def run(tmp_path, *command, **variables):
    """Run one of our programs to its end; its status and what it wrote to standard error."""
    environment = {"VAR_DIR": str(tmp_path / "var"), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **variables}
    environment.setdefault("DATABASE_URL", f"sqlite:///{tmp_path}/own.sqlite3")
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"SETTLEMENT_TOKEN_ADDRESS": MISTYPED_ADDRESS}, "its EIP-55 checksum does not fit"),
        ({"SETTLEMENT_TOKEN_ADDRESS": "usdc"}, "set it to 0x and 40 hex digits"),
        ({**PRODUCTION, "FAULT_POINT": "charged"}, "FAULT_POINT kills the process"),
        ({**PRODUCTION, "SECRET_KEY": ""}, "SECRET_KEY is missing or weak"),
    ],
)
class TestWrong:
    def test_a_command_ends_with_one_sentence(self, tmp_path, variables, sentence):
        status, errors = run(tmp_path, "manage.py", "migrate", "--check", **variables)
        assert (status, errors.count("\n")) == (os.EX_CONFIG, 1)
        assert sentence in errors

    @pytest.mark.parametrize("module", ["config.wsgi", "ledger.wsgi"])
    def test_a_server_ends_with_the_same(self, tmp_path, variables, sentence, module):
        address = f"127.0.0.1:{free_port()}"
        command = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--workers", "1", "--bind", address, module]
        status, errors = run(tmp_path, *command, **variables)
        assert status == os.EX_CONFIG
        assert Counter(sentence in line for line in errors.splitlines())[True] == 1


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS.lower(), f"0x{ADDRESS[2:].upper()}"])
def test_an_address_is_taken_in_every_spelling(tmp_path, address):
    assert run(tmp_path, "manage.py", "check", SETTLEMENT_TOKEN_ADDRESS=address) == (0, "")


def test_a_ledger_without_its_key_says_what_to_set(tmp_path):
    address = f"127.0.0.1:{free_port()}"
    command = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--workers", "1", "--bind", address, "ledger.wsgi"]
    status, errors = run(tmp_path, *command, **PRODUCTION)
    assert status == os.EX_CONFIG
    assert "LEDGER_SIGNING_KEY is missing: set it" in errors


def test_a_wrong_variable_stops_make_run_with_its_sentence(tmp_path):
    ports = {name: str(free_port()) for name in ("PORT", "LEDGER_PORT", "METRICS_PORT")}
    status, errors = run(tmp_path, "-m", "config.ops.supervisor", SETTLEMENT_TOKEN_ADDRESS="usdc", **ports)
    assert (status, errors.count("\n")) == (1, 1)
    assert "SETTLEMENT_TOKEN_ADDRESS='usdc' is no address" in errors


def test_ports_that_cannot_be_had_are_one_line_of_make_run(tmp_path):
    ports = {name: str(free_port()) for name in ("PORT", "LEDGER_PORT", "METRICS_PORT")}
    with silent_port() as taken:
        status, errors = run(tmp_path, "-m", "config.ops.supervisor", **ports | {"LEDGER_PORT": str(taken)})
    assert (status, errors.count("\n")) == (1, 1)
    assert f"127.0.0.1:{taken}" in errors
    assert "make run LEDGER_PORT=" in errors
    status, errors = run(tmp_path, "-m", "config.ops.supervisor", **ports | {"LEDGER_PORT": ports["PORT"]})
    ask_for_others = "PORT, LEDGER_PORT, METRICS_PORT and WITNESS_PORT must be four ports: choose others.\n"
    assert (status, errors) == (1, ask_for_others)
