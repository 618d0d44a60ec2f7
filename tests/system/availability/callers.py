"""Callers that share a few applications, and record each request and its response.

Each application is a register: created as a draft, moved by compare-and-set, read. A write with an unknown outcome
(503, 409 of a first attempt that still runs, no response) is retried with its key. If the retries give no outcome
either, it is recorded as unknown.
"""

import hashlib
import itertools
import json
import random
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, field

from tests.bench.faults.traffic import Caller, Seen

# The target status of a caller, and the statuses from which it is allowed.
MOVES = {"submitted": "draft", "under_review": "submitted|approved|rejected", "approved": "under_review"}
SHARED, OPERATIONS = 3, 4  # applications that a group shares, and the maximum of operations on each
INSIST_SECONDS = 45.0
PAUSE_SECONDS = 0.02
REPEATED, ANCHORED = 0.05, 0.1  # the share of acknowledged writes that are repeated, and of turns at the ledger
_UNKNOWN = {0, 409, 429, 500, 502, 503, 504}


@dataclass
class Records:
    """The records of all callers, in order of time."""

    lines: list[str] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    acknowledged: list[float] = field(default_factory=list)  # the times (monotonic) of acknowledged writes
    anchored: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def note(self, name: str, process: int, event: str, kind: str, value: str) -> None:
        with self._lock:
            self.lines.append(f"{name} - {process} :{event} :{kind} {value}\n")

    def process(self) -> int:
        """Return a process number for one operation. A process with an unknown outcome executes nothing more."""
        return next(self._numbers)

    @property
    def names(self) -> set[str]:
        return {line.partition(" ")[0] for line in self.lines}


@dataclass
class Shared:
    """An application that the callers of a group share."""

    name: str
    identifier: str
    left: int = field(default_factory=lambda: random.randint(1, OPERATIONS))


class Group(threading.Thread):
    """A caller; callers with the same `shared` form a group."""

    def __init__(self, crowd: "Crowd", shared: deque[Shared], number: int) -> None:
        super().__init__(daemon=True)
        self._crowd, self._shared, self._records = crowd, shared, crowd.records
        self._callers = [Caller(port, self._records.seen) for port in crowd.ports]
        self._ledgers = [Caller(port, self._records.seen) for port in crowd.ledger_ports]
        self._turns = itertools.count(number)
        self._anchors = number % 2 == 0

    def run(self) -> None:
        while not self._crowd.over.is_set():
            if len(self._shared) < SHARED:
                self._make()
            else:
                self._work_on(random.choice(list(self._shared)))
            if self._anchors and random.random() < ANCHORED:
                self._anchor()
            self._crowd.over.wait(PAUSE_SECONDS)
        for caller in (*self._callers, *self._ledgers):
            caller.close()

    def _ask(self, callers: list[Caller], method: str, path: str, body: object, key: str) -> tuple[int, bytes]:
        """Send a write until its outcome is known; return status 0 if it stays unknown."""
        head = {"X-API-Key": self._crowd.api_key, "Idempotency-Key": key} if callers is self._callers else {}
        until = time.monotonic() + INSIST_SECONDS
        while True:
            status, answer = callers[next(self._turns) % len(callers)].ask("write", method, path, body, head)
            if status not in _UNKNOWN:
                if status < 300:
                    self._records.acknowledged.append(time.monotonic())
                return status, answer
            if time.monotonic() > until:
                return 0, b""
            time.sleep(0.1)

    def _write(self, method: str, path: str, body: object, key: str) -> tuple[int, bytes]:
        """Send a write; repeat a share of the successful ones, whose responses must be the same."""
        status, answer = self._ask(self._callers, method, path, body, key)
        if status in {200, 201} and random.random() < REPEATED:
            then, again = self._ask(self._callers, method, path, body, key)
            if then and (then, again) != (status, answer):
                self._records.wrong.append(f"key {key}: {status} {answer[:200]!r}, then {then} {again[:200]!r}")
        return status, answer

    def _make(self) -> None:
        key, process = str(uuid.uuid4()), self._records.process()
        body = {"consumer_id": self._crowd.user_id, "offer_id": 1, "provider_id": 2, "application_data": {"key": key}}
        self._records.note(key, process, "invoke", "write", "draft")
        status, answer = self._write("POST", "/v1/applications", body, key)
        if status != 201:
            self._records.note(key, process, "info", "write", "timed-out")
            self._suspect(status, answer)
            return
        self._records.note(key, process, "ok", "write", "draft")
        self._shared.append(Shared(key, json.loads(answer)["id"]))

    def _work_on(self, one: Shared) -> None:
        one.left -= 1
        if one.left < 0:
            if one in self._shared:
                self._shared.remove(one)
            return
        if random.random() < 0.5:
            self._read(one)
        else:
            self._move(one, random.choice(list(MOVES)))

    def _read(self, one: Shared) -> None:
        process = self._records.process()
        self._records.note(one.name, process, "invoke", "read", "nil")
        caller = self._callers[next(self._turns) % len(self._callers)]
        path, head = f"/v1/applications/{one.identifier}", {"X-API-Key": self._crowd.api_key}
        status, answer = caller.ask("read", "GET", path, None, head)
        if status == 200:
            self._records.note(one.name, process, "ok", "read", json.loads(answer)["status"])
        elif status == 404:
            self._records.note(one.name, process, "ok", "read", "nil")
        else:
            self._records.note(one.name, process, "fail", "read", "timed-out")
            self._suspect(status, answer)

    def _move(self, one: Shared, to: str) -> None:
        key, process, change = str(uuid.uuid4()), self._records.process(), f"[{MOVES[to]} {to}]"
        self._records.note(one.name, process, "invoke", "cas", change)
        path = f"/v1/applications/{one.identifier}/status"
        status, answer = self._write("PUT", path, {"status": to, "updated_by": "caller", "reason": key}, key)
        refused = status == 400 and json.loads(answer)["code"] == "E3001"
        event = "ok" if status == 200 else "fail" if refused else "info"
        self._records.note(one.name, process, event, "cas", "timed-out" if event == "info" else change)
        if event == "info":
            self._suspect(status, answer)

    def _anchor(self) -> None:
        data = uuid.uuid4().hex
        body = {"user_id": self._crowd.user_id, "report_type": "fault", "report_data": data}
        status, answer = self._ask(self._ledgers, "POST", "/anchor", body, "")
        if status == 200:
            self._records.anchored.add(hashlib.sha256(data.encode()).hexdigest())
        else:
            self._suspect(status, answer)

    def _suspect(self, status: int, answer: bytes) -> None:
        if status not in _UNKNOWN:
            self._records.wrong.append(f"{status} {answer[:300]!r}")


class Crowd:
    """Groups of callers that work while the block runs."""

    def __init__(
        self, ports: list[int], ledger_ports: list[int], *, user_id: str, api_key: str, groups: int = 3, size: int = 3
    ) -> None:
        self.ports, self.ledger_ports = ports, ledger_ports
        self.user_id, self.api_key = user_id, api_key
        self.records, self.over = Records(), threading.Event()
        self._callers: list[Group] = []
        for _ in range(groups):
            shared: deque[Shared] = deque()
            self._callers += [Group(self, shared, number) for number in range(size)]

    def __enter__(self) -> Records:
        for caller in self._callers:
            caller.start()
        return self.records

    def __exit__(self, *_caught: object) -> None:
        self.over.set()
        for caller in self._callers:
            caller.join(INSIST_SECONDS + 60)
