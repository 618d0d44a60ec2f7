"""A wrong environment: one sentence that says what to set, exit status 78, never a traceback."""

import os
import shutil
import subprocess
import sys

import pytest
from cryptography.fernet import Fernet

from tests.processes import ROOT, free_port, manage

pytestmark = pytest.mark.slow  # each starts a process

SERVER = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--workers", "2", "--bind", "127.0.0.1:0"]


def run(*command, var_dir, **environment):
    """Run Python with this environment alone; return its exit status and what it printed."""
    env = {"PATH": os.environ["PATH"], "VAR_DIR": str(var_dir), **environment}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stderr.strip()


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("ENVIRONMENT", "prod", "ENVIRONMENT='prod' is not known"),
        ("BASE_URL", "http://[::1/v1", "BASE_URL='http://[::1/v1' is not an address"),
        ("CHAIN_URL", "http://127.0.0.1:99999", "CHAIN_URL='http://127.0.0.1:99999' is not an address"),
        ("REDIS_URL", "127.0.0.1:6379", "REDIS_URL is not an address such as redis://"),
        ("METRICS_PORT", "70000", "METRICS_PORT='70000' must be a whole number of at least 1 and at most 65535."),
        ("WEBHOOK_LEASE_SECONDS", "9" * 5_000, "must be a whole number of at least 1 and at most 2147483."),
        ("FIELD_ENCRYPTION_KEYS", "é", "FIELD_ENCRYPTION_KEYS holds a value that is no Fernet key"),
        ("DATABASE_URL", "postgres://db.internal:5432/", "DATABASE_URL names no database"),
        (
            "DATABASE_URL",
            "postgres://db.internal:port/name",
            "DATABASE_URL is not a postgres:// or sqlite:///",
        ),
        ("DATABASE_URL", "postgres://db/x?connect_timeout=soon", "connect_timeout='soon' must be a whole number."),
        ("LEDGER_DATABASE_URL", "oracle://db/x", "LEDGER_DATABASE_URL must begin with postgres:// or sqlite:///."),
        ("LEDGER_API_KEYS", "the-key-itself", "LEDGER_API_KEYS must be SHA-256 digests of keys"),
        ("SETTLEMENT_RPC_URL", "http://[", "SETTLEMENT_RPC_URL is not an address"),
        ("SETTLEMENT_NETWORK", "solana", "SETTLEMENT_NETWORK must be eip155:<chain id> or one of ethereum, "),
        ("SETTLEMENT_NETWORK", "eip155:0", "SETTLEMENT_NETWORK must be eip155:<chain id>"),
        ("DOCUMENT_STORAGE", "documents", "DOCUMENT_STORAGE='documents' is neither an absolute folder"),
        ("DOCUMENT_STORAGE", "s3://", "DOCUMENT_STORAGE='s3://' names no bucket"),
        ("DOCUMENT_STORAGE", "s3://lender-documents/x", "pip install 'django-storages[s3]'"),
        ("DOCUMENT_SCANNER", "127.0.0.1:3310", "DOCUMENT_SCANNER='127.0.0.1:3310' is no address such as clamd://"),
        ("DOCUMENT_SCANNER", "clamd://127.0.0.1", "is no address such as clamd://127.0.0.1:3310"),
        ("DOCUMENT_SCANNER", "clamd://127.0.0.1:port", "is no address such as clamd://127.0.0.1:3310"),
        ("ACCESS_LOG", "sometimes", "ACCESS_LOG='sometimes' is neither yes nor no"),
        ("VAR_DIR", "/proc/nowhere", "VAR_DIR='/proc/nowhere' cannot be written to"),
    ],
    ids=lambda value: value[:24],
)
def test_a_command_says_what_to_set(tmp_path, variable, value, sentence):
    status, printed = run("manage.py", "prune", var_dir=tmp_path, **{variable: value})
    assert status == os.EX_CONFIG
    assert sentence in printed
    assert "\n" not in printed


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"secret_key": "x"}'])
def test_damaged_secrets_are_named_and_not_replaced(tmp_path, content):
    file = tmp_path / "development-secrets.json"
    file.write_text(content)
    status, printed = run("manage.py", "prune", var_dir=tmp_path)
    assert status == os.EX_CONFIG
    assert f"{file} is damaged" in printed
    assert file.read_text() == content


@pytest.mark.parametrize("address", ["postgres://127.0.0.1:{port}/none", "sqlite:////nowhere/at/all.sqlite3"])
def test_a_database_that_cannot_be_opened_is_one_sentence(tmp_path, address):
    status, printed = run("manage.py", "migrate", var_dir=tmp_path, DATABASE_URL=address.format(port=free_port()))
    assert status == os.EX_UNAVAILABLE
    assert printed.startswith("The database does not answer: ")
    assert "\n" not in printed


@pytest.mark.parametrize("module", ["config.wsgi", "ledger.wsgi"])
def test_a_server_says_it_once(tmp_path, module):
    status, printed = run(*SERVER, module, var_dir=tmp_path, REVIEW_POLICY="none")
    assert status == os.EX_CONFIG
    assert printed.count("REVIEW_POLICY='none' is not known") == 1
    status, printed = run(*SERVER, module, var_dir=tmp_path, METRICS="perhaps")
    assert (status, printed) == (os.EX_CONFIG, "METRICS='perhaps' is neither yes nor no: set it to 1 or 0.")


@pytest.fixture
def stored(migrated, tmp_path):
    """The address of a database with an encrypted value in it, and the key that it was encrypted with."""
    address, key = f"sqlite:///{tmp_path}/platform.sqlite3", Fernet.generate_key().decode()
    env = {"PATH": os.environ["PATH"], "VAR_DIR": str(tmp_path), "DATABASE_URL": address, "FIELD_ENCRYPTION_KEYS": key}
    shutil.copyfile(migrated, tmp_path / "platform.sqlite3")
    manage(env, "rotate_signing_key")
    return address, key


def test_other_encryption_keys_keep_every_process_from_starting(tmp_path, stored):
    address, key = stored
    other = Fernet.generate_key().decode()
    sentence = "FIELD_ENCRYPTION_KEYS does not open what is stored in "
    environment = {"var_dir": tmp_path, "DATABASE_URL": address, "FIELD_ENCRYPTION_KEYS": other}
    for command in ([*SERVER, "config.wsgi"], [*SERVER, "ledger.wsgi"], ["manage.py", "deliver_webhooks"]):
        status, printed = run(*command, **environment)
        assert status == os.EX_CONFIG, printed
        assert printed.count(sentence) == 1
        assert other not in printed
    status, printed = run("manage.py", "doctor", **environment)
    assert status == os.EX_CONFIG
    # With the key of old behind the new one everything is well again.
    environment["FIELD_ENCRYPTION_KEYS"] = f"{other},{key}"
    assert run("manage.py", "deliver_webhooks", "--once", **environment)[0] == 0
    assert run("manage.py", "doctor", **environment)[0] == 0
