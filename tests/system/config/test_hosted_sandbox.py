"""A hosted sandbox: the sandbox profile behind a proxy, with the built-in vendors."""

import base64
import json
import os
import secrets
import shutil
import subprocess
import sys

import pytest
from cryptography.fernet import Fernet

from tests.databases import store_environment
from tests.processes import ROOT, manage, wait_until
from tests.system.server import body_of, exchange, gunicorn, request, status_of

HTTPS, JSON = "X-Forwarded-Proto: https", "Content-Type: application/json"


@pytest.fixture(scope="module")
def environment(migrated, tmp_path_factory):
    """The environment variables of a sandbox with a migrated database."""
    folder = tmp_path_factory.mktemp("sandbox")
    shutil.copyfile(migrated, folder / "own.sqlite3")
    address = f"sqlite:///{folder}/own.sqlite3"
    store_environment(address, "sandbox")
    return {
        "PATH": os.environ["PATH"], "VAR_DIR": str(folder), "DATABASE_URL": address, "ENVIRONMENT": "sandbox",
        "SECRET_KEY": secrets.token_urlsafe(64), "FIELD_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "DECISION_SIGNING_KEY": base64.b64encode(secrets.token_bytes(32)).decode(), "ALLOW_SANDBOX": "1",
        "BASE_URL": "https://sandbox.example/v1", "ALLOWED_HOSTS": "sandbox.example", "TRUSTED_PROXIES": "127.0.0.1",
    }  # fmt: skip


@pytest.fixture(scope="module")
def key(environment):
    command = [sys.executable, "manage.py", "create_user", "dana", "--password-stdin"]
    subprocess.run(command, cwd=ROOT, env=environment, input=b"a walker walks far\n", check=True, capture_output=True)
    document = json.loads(manage(environment, "create_api_key", "dana", "--name", "x", "--json"))
    assert document["key"].startswith("ck_test_")
    return document["key"]


def test_a_hosted_sandbox_requires_https_and_advances_the_clock(environment, key):
    options = {name: value for name, value in environment.items() if name not in {"PATH", "VAR_DIR", "DATABASE_URL"}}
    with gunicorn(environment["DATABASE_URL"], environment["VAR_DIR"], **options) as port:

        def send(method, path, body=None, *headers):
            raw = b"" if body is None else json.dumps(body).encode()
            answer = exchange(port, request(method, f"/v1{path}", raw, JSON, *headers, host="sandbox.example"))
            return status_of(answer), json.loads(body_of(answer))

        # On a busy machine, the first health check can time out.
        wait_until(lambda: send("GET", "/health", None, HTTPS)[1]["status"] == "healthy")
        status, error = send("GET", "/health")
        assert (status, error["code"]) == (403, "E1009")
        mine = f"X-API-Key: {key}"
        status, sent = send("POST", "/sandbox/clock", {"advance_seconds": 86_400}, HTTPS, mine)
        assert (status, sent["advanced_seconds"]) == (200, 86_400)
        status, created = send("POST", "/kyc/create", {}, HTTPS, mine)
        assert (status, created["provider"]) == (200, "sandbox")
        outcome = f"/sandbox/verifications/{created['verification_id']}/outcome"
        assert send("POST", outcome, {"outcome": "verified"}, HTTPS, mine)[0] == 200
        status, error = send("GET", "/auth/me", None, HTTPS, f"X-API-Key: {key.replace('ck_test_', 'ck_live_')}")
        assert (status, error["code"]) == (401, "E2002")
        assert error["message"].startswith("This is a key for production (ck_live_…). Send a key")
