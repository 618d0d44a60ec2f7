"""Callers that repeat each write until it is acknowledged, and a check of the stored result.

A caller creates an application under an Idempotency-Key, submits it, reads it, and anchors a report in the ledger.
Without an acknowledgment it sends the request again with the same key. A keyless caller creates applications without a
key, and never retries. Every response is recorded. A missing response is improper, and so is an error other than the
documented one: 503, the error's four fields, and `Retry-After`.
"""

import contextlib
import hashlib
import http.client
import json
import select
import socket
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from tests.bench.faults.stand import Stand

# Each application: id, key, status, moves, history rows, events.
_STORED = """
WITH told AS (
    SELECT object::jsonb ->> 'application_id' AS id, count(*) AS events FROM webhooks_event GROUP BY 1
), moved AS (
    SELECT application_id AS id, count(*) AS moves FROM credit_applicationhistory GROUP BY 1
)
SELECT a.id::text, a.application_data::jsonb ->> 'key', a.status, a.moves, coalesce(moved.moves, 0),
       coalesce(told.events, 0)
FROM credit_application a LEFT JOIN moved ON moved.id = a.id LEFT JOIN told ON told.id = a.id::text
"""
UNAVAILABLE = {"E5030", "E7002"}
_MEMBERS = {"error", "message", "code", "request_id"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A response, or none (status 0): its time (monotonic), the kind of request, and its duration."""

    at: float
    work: str
    status: int
    seconds: float
    proper: bool
    text: str = ""


class Caller:
    """A keep-alive connection as in a client library: one that the server has closed is not reused."""

    def __init__(self, port: int, seen: list[Seen]) -> None:
        self._port, self._seen = port, seen
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, work: str, method: str, path: str, body: object, headers: dict[str, str]) -> tuple[int, bytes]:
        """Send a request; return status and body, status 0 without a response."""
        began = time.monotonic()
        status, answer, proper = 0, b"", False
        try:
            connection = self._open()
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            status, answer = response.status, response.read()
            proper = status < 500 or _is_promised(status, answer, response)
            if response.will_close:
                self.close()
        except (OSError, http.client.HTTPException) as error:
            answer = repr(error).encode()
            self.close()
        now = time.monotonic()
        text = "" if proper else f"{method} {path}: {status} {answer[:200]!r}"
        self._seen.append(Seen(now, work, status, now - began, proper, text))
        return status, answer

    def _open(self) -> http.client.HTTPConnection:
        """Return the connection; open a new one if the server has closed it."""
        kept = self._connection
        if kept is not None and kept.sock is not None and select.select([kept.sock], [], [], 0)[0]:
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            self._connection.connect()
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _is_promised(status: int, body: bytes, response: http.client.HTTPResponse) -> bool:
    """Return whether an error is the documented one."""
    with contextlib.suppress(ValueError):
        document = json.loads(body)
        waits = (response.getheader("Retry-After") or "").isdigit()
        return status == 503 and waits and document.keys() >= _MEMBERS and document["code"] in UNAVAILABLE
    return False


@dataclass
class Traffic:
    """Running callers, and their responses."""

    stand: Stand
    port: int
    ledger_port: int = 0
    callers: int = 8
    keyless: int = 0
    pause_seconds: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    applications: dict[str, set[str]] = field(default_factory=dict)  # key -> ids of acknowledged applications
    submitted: set[str] = field(default_factory=set)
    anchored: set[str] = field(default_factory=set)

    def __enter__(self) -> Self:
        """Start the callers."""
        self._over, self._hopeless = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(self.callers)]
        self._threads += [threading.Thread(target=self._call_without_keys) for _ in range(self.keyless)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_caught: object) -> None:
        """Stop the callers after their current work."""
        self._over.set()
        patience = threading.Timer(60.0, self._hopeless.set)
        patience.start()
        for thread in self._threads:
            thread.join()
        patience.cancel()

    def _call(self, number: int) -> None:
        platform, ledger = Caller(self.port, self.seen), Caller(self.ledger_port, self.seen)
        while not self._over.is_set():
            self._story(platform)
            if self.ledger_port and number % 2:
                self._anchor(ledger)
            if self.pause_seconds:
                self._over.wait(self.pause_seconds)
        platform.close()
        ledger.close()

    def _call_without_keys(self) -> None:
        caller = Caller(self.port, self.seen)
        while not self._over.is_set():
            key = str(uuid.uuid4())
            status, answer = caller.ask("keyless", "POST", "/v1/applications", self._wanted(key), self._who())
            if status == 201:
                self.applications.setdefault(key, set()).add(json.loads(answer)["id"])
            self._over.wait(self.pause_seconds)
        caller.close()

    def _who(self) -> dict[str, str]:
        return {"X-API-Key": self.stand.api_key}

    def _wanted(self, key: str) -> dict[str, object]:
        return {"consumer_id": self.stand.user_id, "offer_id": 1, "provider_id": 2, "application_data": {"key": key}}

    def _story(self, caller: Caller) -> None:
        """Create an application, submit it, and read it."""
        key, who = str(uuid.uuid4()), self._who()
        answer = self._insist(
            caller, "POST", "/v1/applications", self._wanted(key), {**who, "Idempotency-Key": key}, 201
        )
        if answer is None:
            return
        identifier = json.loads(answer)["id"]
        self.applications.setdefault(key, set()).add(identifier)
        path, move = f"/v1/applications/{identifier}", {"status": "submitted", "updated_by": "caller"}
        if self._insist(caller, "PUT", f"{path}/status", move, {**who, "Idempotency-Key": str(uuid.uuid4())}, 200):
            self.submitted.add(identifier)
        caller.ask("read", "GET", path, None, who)

    def _anchor(self, caller: Caller) -> None:
        """Anchor a report."""
        data = uuid.uuid4().hex
        body = {"user_id": self.stand.user_id, "report_type": "fault", "report_data": data}
        if self._insist(caller, "POST", "/anchor", body, {}, 200):
            self.anchored.add(hashlib.sha256(data.encode()).hexdigest())

    def _insist(
        self, caller: Caller, method: str, path: str, body: object, headers: dict[str, str], wanted: int
    ) -> bytes | None:
        """Send a request until it is acknowledged; return None if the traffic ends first."""
        while True:
            status, answer = caller.ask("write", method, path, body, headers)
            if status == wanted:
                return answer
            # A retry while the first request still runs, or after a temporary failure; other statuses are wrong.
            if status not in {0, 409, 429, 500, 502, 503, 504}:
                self.seen.append(Seen(time.monotonic(), "wrong", status, 0.0, False, f"{method} {path}: {answer!r}"))
                return None
            self._over.wait(0.05)
            if self._hopeless.is_set():
                return None

    def improper(self) -> list[Seen]:
        """Return the undocumented responses."""
        return [response for response in self.seen if not response.proper]

    def judge(self) -> dict[str, int]:
        """Compare the callers' responses with the stored rows; every count must be zero."""
        identifiers = {identifier for ids in self.applications.values() for identifier in ids}
        with self.stand.connect() as session:
            rows = session.execute(_STORED).fetchall()
            hashes = {bytes(row[0]).hex() for row in session.execute("SELECT hash FROM ledger_entry").fetchall()}
        stored = {row[0]: row for row in rows}
        return {
            "acknowledged writes lost": len(identifiers - stored.keys())
            + sum(stored[identifier][2] != "submitted" for identifier in self.submitted & stored.keys())
            + len(self.anchored - hashes),
            "requests carried out twice": sum(count > 1 for count in Counter(row[1] for row in rows).values())
            + sum(len(ids) > 1 for ids in self.applications.values()),
            # One event for the creation, and one for each transition.
            "half-written applications": sum(row[3] != row[4] or row[5] != row[3] + 1 for row in rows),
        }


def show(seen: list[Seen]) -> list[Seen]:
    """Print the first responses of a list; return the whole list."""
    for response in seen[:5]:
        print(f"    {response.work}: {response.text or response.status}", flush=True)
    return seen
