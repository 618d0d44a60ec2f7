"""Callers that repeat each write until it is acknowledged, and a check of the stored rows.

A caller creates an application under an Idempotency-Key, submits it, reads it, and anchors a report in the ledger.
Without an acknowledgment it sends the request again with the same key. A keyless caller creates applications without a
key, and never retries. Every response is recorded. The only documented server error is 503 with the four error fields
and `Retry-After`. Other server errors and missing responses are undocumented.
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

# Columns: ID, key, status, transitions, history rows, and events of each application.
_STORED = """
WITH emitted AS (
    SELECT object::jsonb ->> 'application_id' AS id, count(*) AS events FROM webhooks_event GROUP BY 1
), moved AS (
    SELECT application_id AS id, count(*) AS moves FROM credit_applicationhistory GROUP BY 1
)
SELECT a.id::text, a.application_data::jsonb ->> 'key', a.status, a.moves, coalesce(moved.moves, 0),
       coalesce(emitted.events, 0)
FROM credit_application a LEFT JOIN moved ON moved.id = a.id LEFT JOIN emitted ON emitted.id = a.id::text
"""
UNAVAILABLE = {"E5030", "E7002"}
_FIELDS = {"error", "message", "code", "request_id"}


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """A response, or a missing response (status 0): its monotonic time, the kind of request, and the duration in s."""

    at: float
    work: str
    status: int
    seconds: float
    is_documented: bool
    text: str = ""


class Caller:
    """A keep-alive connection that is replaced if the server has closed it, as in client libraries."""

    def __init__(self, port: int, responses: list[RecordedResponse]) -> None:
        self._port, self._responses = port, responses
        self._connection: http.client.HTTPConnection | None = None

    def send(self, work: str, method: str, path: str, body: object, headers: dict[str, str]) -> tuple[int, bytes]:
        """Send a request; return status and body, or status 0 if there is no response."""
        began = time.monotonic()
        status, answer, is_documented = 0, b"", False
        try:
            connection = self._open()
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            status, answer = response.status, response.read()
            is_documented = status < 500 or _is_documented_error(status, answer, response)
            if response.will_close:
                self.close()
        except (OSError, http.client.HTTPException) as error:
            answer = repr(error).encode()
            self.close()
        now = time.monotonic()
        text = "" if is_documented else f"{method} {path}: {status} {answer[:200]!r}"
        self._responses.append(RecordedResponse(now, work, status, now - began, is_documented, text))
        return status, answer

    def _open(self) -> http.client.HTTPConnection:
        """Return the connection; open a new one if the server has closed it."""
        current = self._connection
        if current is not None and current.sock is not None and select.select([current.sock], [], [], 0)[0]:
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


def _is_documented_error(status: int, body: bytes, response: http.client.HTTPResponse) -> bool:
    """Return whether a response is the documented server error."""
    with contextlib.suppress(ValueError):
        document = json.loads(body)
        waits = (response.getheader("Retry-After") or "").isdigit()
        return status == 503 and waits and document.keys() >= _FIELDS and document["code"] in UNAVAILABLE
    return False


@dataclass
class Traffic:
    """Callers that run during the block, and their responses."""

    stand: Stand
    port: int
    ledger_port: int = 0
    callers: int = 8
    keyless: int = 0
    pause_seconds: float = 0.0
    responses: list[RecordedResponse] = field(default_factory=list)
    applications: dict[str, set[str]] = field(default_factory=dict)  # key -> IDs of acknowledged applications
    submitted: set[str] = field(default_factory=set)
    anchored: set[str] = field(default_factory=set)

    def __enter__(self) -> Self:
        """Start the callers."""
        self._over, self._has_timed_out = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(self.callers)]
        self._threads += [threading.Thread(target=self._call_without_keys) for _ in range(self.keyless)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_caught: object) -> None:
        """Stop the callers after their current work."""
        self._over.set()
        patience = threading.Timer(60.0, self._has_timed_out.set)
        patience.start()
        for thread in self._threads:
            thread.join()
        patience.cancel()

    def _call(self, number: int) -> None:
        platform, ledger = Caller(self.port, self.responses), Caller(self.ledger_port, self.responses)
        while not self._over.is_set():
            self._use_application(platform)
            if self.ledger_port and number % 2:
                self._anchor(ledger)
            if self.pause_seconds:
                self._over.wait(self.pause_seconds)
        platform.close()
        ledger.close()

    def _call_without_keys(self) -> None:
        caller = Caller(self.port, self.responses)
        while not self._over.is_set():
            key = str(uuid.uuid4())
            status, answer = caller.send("keyless", "POST", "/v1/applications", self._application(key), self._headers())
            if status == 201:
                self.applications.setdefault(key, set()).add(json.loads(answer)["id"])
            self._over.wait(self.pause_seconds)
        caller.close()

    def _headers(self) -> dict[str, str]:
        return {"X-API-Key": self.stand.api_key}

    def _application(self, key: str) -> dict[str, object]:
        return {"consumer_id": self.stand.user_id, "offer_id": 1, "provider_id": 2, "application_data": {"key": key}}

    def _use_application(self, caller: Caller) -> None:
        """Create an application, submit it, and read it."""
        key, headers = str(uuid.uuid4()), self._headers()
        write = {**headers, "Idempotency-Key": key}
        answer = self._send_until_acknowledged(caller, "POST", "/v1/applications", self._application(key), write, 201)
        if answer is None:
            return
        identifier = json.loads(answer)["id"]
        self.applications.setdefault(key, set()).add(identifier)
        path, move = f"/v1/applications/{identifier}", {"status": "submitted", "updated_by": "caller"}
        write = {**headers, "Idempotency-Key": str(uuid.uuid4())}
        if self._send_until_acknowledged(caller, "PUT", f"{path}/status", move, write, 200):
            self.submitted.add(identifier)
        caller.send("read", "GET", path, None, headers)

    def _anchor(self, caller: Caller) -> None:
        data = uuid.uuid4().hex
        body = {"user_id": self.stand.user_id, "report_type": "fault", "report_data": data}
        if self._send_until_acknowledged(caller, "POST", "/anchor", body, {}, 200):
            self.anchored.add(hashlib.sha256(data.encode()).hexdigest())

    def _send_until_acknowledged(
        self, caller: Caller, method: str, path: str, body: object, headers: dict[str, str], wanted: int
    ) -> bytes | None:
        """Send a request until it is acknowledged; return None if the traffic ends first."""
        while True:
            status, answer = caller.send("write", method, path, body, headers)
            if status == wanted:
                return answer
            # 409 while the first request still runs, or a temporary failure. Every other status is wrong.
            if status not in {0, 409, 429, 500, 502, 503, 504}:
                self.responses.append(
                    RecordedResponse(time.monotonic(), "wrong", status, 0.0, False, f"{method} {path}: {answer!r}")
                )
                return None
            self._over.wait(0.05)
            if self._has_timed_out.is_set():
                return None

    def undocumented(self) -> list[RecordedResponse]:
        """Return the undocumented responses."""
        return [response for response in self.responses if not response.is_documented]

    def judge(self) -> dict[str, int]:
        """Compare the callers' responses with the stored rows; return counts that must all be zero."""
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
            # Each application has one event for its creation, and one for each transition.
            "half-written applications": sum(row[3] != row[4] or row[5] != row[3] + 1 for row in rows),
        }


def print_first(responses: list[RecordedResponse]) -> list[RecordedResponse]:
    """Print the first five responses of a list; return the list."""
    for response in responses[:5]:
        print(f"    {response.work}: {response.text or response.status}", flush=True)
    return responses
