"""An encryption key is replaced while two servers and a worker run: in the documented order, no request fails."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time

import pytest
import requests
from cryptography.fernet import Fernet
from django.db import connection

from config.core.encryption import encrypted_fields
from tests.config.server import own_database_url, wait_for
from tests.factories import UserFactory
from tests.identity.support import issue
from tests.processes import ROOT, free_port, manage
from tests.webhooks.receiver import Receiver

ROUNDS_BETWEEN = 4  # rounds of the caller to wait for before and after each step
PATIENCE_SECONDS = 120


class Platform:
    """Two servers and a worker, which are restarted one after the other."""

    def __init__(self, address, var_dir):
        self.environment = {
            "PATH": os.environ["PATH"], "VAR_DIR": str(var_dir), "DATABASE_URL": address, "WEBHOOK_ALLOW_PRIVATE": "1",
        }  # fmt: skip
        self.ports = [free_port(), free_port()]
        self.processes = {}

    def commands(self):
        server = ["-m", "gunicorn", "--config", "config/gunicorn.py", "--workers", "1", "--graceful-timeout", "10"]
        for port in self.ports:
            yield port, [*server, "--bind", f"127.0.0.1:{port}", "config.wsgi"]
        yield "worker", ["manage.py", "deliver_webhooks"]

    def restart_with(self, *keys):
        """Give every process these keys, one after the other."""
        self.environment["FIELD_ENCRYPTION_KEYS"] = ",".join(keys)
        for name, command in self.commands():
            self.stop(name)
            self.processes[name] = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL
            )
            if name != "worker":
                wait_for(name, self.processes[name])

    def stop(self, name):
        if name in self.processes:
            self.processes[name].terminate()
            assert self.processes.pop(name).wait(60) == 0

    def stop_all(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(60)


class Caller:
    """Rotates secrets and asks for tests, at one server after the other: each reads what the other has encrypted."""

    def __init__(self, platform, key):
        self.platform, self.headers = platform, {"X-API-Key": key}
        self.rounds, self.failures = 0, []
        self.stopped = threading.Event()

    def call(self, path, body=None):
        """Send to the next server, and to the other while that one is restarted, as a proxy does."""
        ports = self.platform.ports[:: 1 if self.rounds % 2 else -1]
        for port in ports:
            with contextlib.suppress(requests.ConnectionError):
                answer = requests.post(
                    f"http://127.0.0.1:{port}/v1/webhooks/endpoints{path}",
                    json=body or {},
                    headers=self.headers,
                    timeout=60,
                )
                if answer.status_code >= 300:
                    self.failures.append((path, answer.status_code, answer.text))
                return answer
        raise AssertionError("no server listens")

    def run(self, endpoint):
        try:
            while not self.stopped.wait(0.05):
                self.call(f"/{endpoint}/rotate-secret")
                self.call(f"/{endpoint}/test")
                self.rounds += 1
        except (requests.RequestException, AssertionError) as error:
            self.failures.append(repr(error))

    def wait_for_more(self):
        goal, patience = self.rounds + ROUNDS_BETWEEN, time.monotonic() + PATIENCE_SECONDS
        while self.rounds < goal and not self.failures and time.monotonic() < patience:
            time.sleep(0.05)
        assert self.failures == []
        assert self.rounds >= goal


def stored_secrets():
    """Every ciphertext of the database."""
    with connection.cursor() as cursor:
        for model, field in encrypted_fields():
            cursor.execute(f"SELECT {field.column} FROM {model._meta.db_table} WHERE {field.column} IS NOT NULL")
            yield from (row[0] for row in cursor.fetchall())


@pytest.mark.timeout(900)
def test_a_new_key_comes_last_then_first_and_the_old_one_goes(needs_postgresql, committed, settings, tmp_path):
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    settings.FIELD_ENCRYPTION_KEYS = [old]
    key = issue(UserFactory()).key
    platform = Platform(own_database_url(), tmp_path)
    caller = Caller(platform, key)
    with Receiver() as receiver, contextlib.ExitStack() as stack:
        stack.callback(platform.stop_all)
        platform.restart_with(old)
        endpoint = caller.call("", {"url": receiver.url}).json()["id"]
        thread = threading.Thread(target=caller.run, args=[endpoint], daemon=True)
        thread.start()
        stack.callback(thread.join, 60)
        stack.callback(caller.stopped.set)
        caller.wait_for_more()
        platform.restart_with(old, new)
        caller.wait_for_more()
        platform.restart_with(new, old)
        caller.wait_for_more()
        assert json.loads(manage(platform.environment, "rotate_encryption_key", "--json"))["unreadable"] == 0
        platform.restart_with(new)
        caller.wait_for_more()
        sent = caller.rounds
        patience = time.monotonic() + PATIENCE_SECONDS
        while len(receiver.received) < sent and time.monotonic() < patience:
            time.sleep(0.05)
        assert len(receiver.received) >= sent
    assert caller.failures == []
    secrets = list(stored_secrets())
    assert len(secrets) >= 3
    for ciphertext in secrets:
        assert Fernet(new).decrypt(ciphertext)
