"""31 days on two real servers: on one the whole clock goes on (libfaketime), on the other an account's is moved."""

import contextlib
import json
import os
import secrets
import shutil
import time
import uuid
from pathlib import Path

import pytest
import requests

from tests import processes
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS
from tests.sandbox.conftest import seconds_of
from tests.system.server import gunicorn

# tests/sandbox/test_clock_properties.py is the short form.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1_800)]
PASSWORD = "a walker walks far"
KEYS = [str(uuid.uuid4()) for _ in range(2)]
# When workers come by while the one server waits.
WORKERS_COME = (11, 22, 31)
# libfaketime 0.9.10 breaks sleeping until a monotonic moment, which is how Python sleeps.
_SLEEP = "import select, time\ntime.sleep = lambda seconds: select.select([], [], [], seconds) and None\n"


def library() -> Path | None:
    """Return libfaketime for threads, or None."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


class Clock:
    """A clock that processes started with `environment` share."""

    def __init__(self, folder: Path, preloaded: Path) -> None:
        self._file = folder / "offset"
        self.set("+0")
        (folder / "sitecustomize.py").write_text(_SLEEP)
        self.environment = {
            "LD_PRELOAD": str(preloaded),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": f"{folder}:{Path(__file__).resolve().parents[3]}",
        }

    def set(self, offset: str) -> None:
        """Move the clock; every process notices within a second."""
        self._file.write_text(f"{offset}\n")


class Person:
    """Somebody with an account on a server and a database of their own."""

    def __init__(self, root, environment):
        self.root, self.environment = root, environment
        processes.manage(environment, "create_user", "rosa", "--password", PASSWORD, "--json")
        made = processes.manage(environment, "create_api_key", "rosa", "--name", "x", "--expires-days", "40", "--json")
        self.key = {"X-API-Key": json.loads(made)["key"]}
        self.user_id = str(self.ask("GET", "/auth/me").json()["id"])

    def ask(self, method, path, body=None, **headers):
        sent = {"X-API-Key": self.key["X-API-Key"], **headers}
        return requests.request(method, f"{self.root}/v1{path}", json=body, headers=sent, timeout=99)

    def ok(self, *asked, **headers):
        answer = self.ask(*asked, **headers)
        assert answer.status_code < 300, (asked, answer.text)
        return answer.json() if answer.content else None

    def live(self):
        """Do something of everything that waits."""
        me = self.user_id
        self.log_in = self.ok("POST", "/auth/token", {"username": "rosa", "password": PASSWORD})
        for status in ("draft", "submitted", "approved", "pending_documents"):
            wanted = {"consumer_id": me, "offer_id": 1, "provider_id": 700, "initial_status": status}
            self.ok("POST", "/applications", wanted)
        for _ in range(3):
            self.ok("POST", "/kyc/create", {})
        self.ok("POST", "/staging/items", {"kind": "note", "payload": {"text": "x"}})
        self.claim()
        wallet = self.ok("POST", "/wallet/connect/walletconnect", {"address": ADDRESS})["id"]
        order = {"user_id": me, "wallet_id": wallet, "to_address": OTHER_ADDRESS, "amount_usdc": 5}
        self.ok("POST", "/payments/crypto/initiate", order)

    def claim(self):
        body = {"user_id": self.user_id, "publication_id": "10.1000/182", "claim_type": "author"}
        answer = self.ask("POST", "/claims", body, **{"Idempotency-Key": KEYS[0]})
        return answer.status_code, answer.headers.get("Idempotent-Replayed")

    def work(self):
        """Let the workers come by."""
        for command in (["expire_applications"], ["reconcile_payments", "--once"], ["prune"]):
            processes.manage(self.environment, *command, "--json")

    def seen(self):
        """Return what can be seen, and done, now."""
        refresh = {"refresh_token": self.log_in["refresh_token"]}
        me = self.ask("GET", "/auth/me")
        bearer = {"Authorization": f"Bearer {self.log_in['access_token']}"}
        old = requests.get(f"{self.root}/v1/auth/me", headers=bearer, timeout=99)
        listed = self.ok("GET", f"/applications?consumer_id={self.user_id}")
        return {
            "applications": [one["status"] for one in listed],
            "staged": self.ok("GET", "/staging/items")["total"],
            "expired": self.ok("GET", "/staging/items?status=expired")["total"],
            "key": (me.status_code, "X-Key-Expires" in me.headers),
            "log-in": (self.ask("POST", "/auth/refresh", refresh).status_code, old.status_code),
            "claim": self.claim(),
            "verification": self.ask("POST", "/kyc/create", {}).status_code,
            "events": sorted(
                (one["type"], one["data"]["object"].get("status", ""))
                for one in self.ok("GET", "/webhooks/events?after=0&limit=100")["events"]
            ),
        }


@contextlib.contextmanager
def person(migrated, name, folder, **clock):
    """Serve on a database of one's own; give the person who lives there."""
    folder = folder / name
    folder.mkdir()
    shutil.copyfile(migrated, folder / "own.sqlite3")
    address, environment = f"sqlite:///{folder}/own.sqlite3", {"SECRET_KEY": secrets.token_urlsafe(64), **clock}
    with gunicorn(address, folder, **environment) as port:
        env = {"PATH": os.environ["PATH"], "VAR_DIR": str(folder), "DATABASE_URL": address, **environment}
        yield Person(f"http://127.0.0.1:{port}", env)


def test_thirty_one_days_are_the_same_for_who_waits_and_who_moves_the_clock(migrated, tmp_path):
    preloaded = library()
    if preloaded is None:
        pytest.skip("needs libfaketime: apt-get install faketime")
    clock = Clock(tmp_path, preloaded)
    with (
        person(migrated, "moved", tmp_path) as moved,
        person(migrated, "waiting", tmp_path, **clock.environment) as waiting,
    ):
        moved.live()
        waiting.live()
        done = moved.ok("POST", "/sandbox/clock", {"advance_seconds": seconds_of(days=31)})["done"]
        for days in WORKERS_COME:
            clock.set(f"+{seconds_of(days=days)}")
            time.sleep(1.5)  # until every process has noticed
            waiting.work()
        assert done["applications_expired"] == 3
        seen = moved.seen()
        assert seen == waiting.seen()
        assert seen["applications"] == ["expired", "expired", "submitted", "expired"]
        assert (seen["key"], seen["log-in"], seen["claim"]) == ((200, True), (401, 401), (201, None))
        assert (seen["staged"], seen["expired"], seen["verification"]) == (0, 1, 200)
