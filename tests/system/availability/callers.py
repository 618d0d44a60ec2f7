"""Callers that share a few applications, and record each request and its response.

Each application is a register: it is created as a draft, moved by compare-and-set, and read. The outcome of a write is
unknown after 503, after a missing response, and after 409 for a first attempt that still runs. The caller retries such
a write with the same key. If the outcome is still unknown after all retries, the caller records it as unknown.
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

from tests.bench.faults.traffic import Caller, RecordedResponse

# The target statuses, and the statuses from which each is allowed.
MOVES = {"submitted": "draft", "under_review": "submitted|approved|rejected", "approved": "under_review"}
SHARED, OPERATIONS = 3, 4  # applications that a group shares, and the maximum number of operations on each
RETRY_SECONDS = 45.0
REPEATED, ANCHORED = 0.05, 0.1  # the share of repeated writes among acknowledged writes, and of turns with an anchor
_UNKNOWN = {0, 409, 429, 500, 502, 503, 504}


@dataclass
class Records:
    """The records of all callers, in order of time."""

    lines: list[str] = field(default_factory=list)
    responses: list[RecordedResponse] = field(default_factory=list)
    acknowledged: list[float] = field(default_factory=list)  # the times (monotonic) of acknowledged writes
    anchored: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def note(self, name: str, process: int, event: str, kind: str, value: str) -> None:
        with self._lock:
            self.lines.append(f"{name} - {process} :{event} :{kind} {value}\n")

    def process(self) -> int:
        """Return a new process number. Each operation has its own, because a process ends with an unknown outcome."""
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


class GroupCaller(threading.Thread):
    """A caller thread. Callers with the same `shared` form a group."""

    def __init__(self, crowd: "Crowd", shared: deque[Shared], number: int) -> None:
        super().__init__(daemon=True)
        self._crowd, self._shared, self._records = crowd, shared, crowd.records
        self._callers = [Caller(port, self._records.responses) for port in crowd.ports]
        self._ledgers = [Caller(port, self._records.responses) for port in crowd.ledger_ports]
        self._turns = itertools.count(number)
        self._anchors = number % 2 == 0

    def run(self) -> None:
        while not self._crowd.over.is_set():
            if len(self._shared) < SHARED:
                self._create()
            else:
                self._work_on(random.choice(list(self._shared)))
            if self._anchors and random.random() < ANCHORED:
                self._anchor()
            self._crowd.over.wait(self._crowd.pause_seconds)
        for caller in (*self._callers, *self._ledgers):
            caller.close()

    def _send_until_known(
        self, callers: list[Caller], method: str, path: str, body: object, key: str
    ) -> tuple[int, bytes]:
        """Send a write until its outcome is known. Return status 0 if the outcome is unknown after 45 s."""
        head = {"X-API-Key": self._crowd.api_key, "Idempotency-Key": key} if callers is self._callers else {}
        until = time.monotonic() + RETRY_SECONDS
        while True:
            status, answer = callers[next(self._turns) % len(callers)].send("write", method, path, body, head)
            if status not in _UNKNOWN:
                if status < 300:
                    self._records.acknowledged.append(time.monotonic())
                return status, answer
            if time.monotonic() > until:
                return 0, b""
            time.sleep(0.1)

    def _write(self, method: str, path: str, body: object, key: str) -> tuple[int, bytes]:
        """Send a write, and repeat some successful writes. Record a repetition with a different response as wrong."""
        status, answer = self._send_until_known(self._callers, method, path, body, key)
        if status in {200, 201} and random.random() < REPEATED:
            next_status, next_answer = self._send_until_known(self._callers, method, path, body, key)
            if next_status and (next_status, next_answer) != (status, answer):
                self._records.wrong.append(
                    f"key {key}: {status} {answer[:200]!r}, then {next_status} {next_answer[:200]!r}"
                )
        return status, answer

    def _create(self) -> None:
        key, process = str(uuid.uuid4()), self._records.process()
        body = {"consumer_id": self._crowd.user_id, "offer_id": 1, "provider_id": 2, "application_data": {"key": key}}
        self._records.note(key, process, "invoke", "write", "draft")
        status, answer = self._write("POST", "/v1/applications", body, key)
        if status != 201:
            self._records.note(key, process, "info", "write", "timed-out")
            self._record_if_wrong(status, answer)
            return
        self._records.note(key, process, "ok", "write", "draft")
        self._shared.append(Shared(key, json.loads(answer)["id"]))

    def _work_on(self, application: Shared) -> None:
        application.left -= 1
        if application.left < 0:
            if application in self._shared:
                self._shared.remove(application)
            return
        if random.random() < 0.5:
            self._read(application)
        else:
            self._move(application, random.choice(list(MOVES)))

    def _read(self, application: Shared) -> None:
        process = self._records.process()
        self._records.note(application.name, process, "invoke", "read", "nil")
        caller = self._callers[next(self._turns) % len(self._callers)]
        path, head = f"/v1/applications/{application.identifier}", {"X-API-Key": self._crowd.api_key}
        status, answer = caller.send("read", "GET", path, None, head)
        if status == 200:
            self._records.note(application.name, process, "ok", "read", json.loads(answer)["status"])
        elif status == 404:
            self._records.note(application.name, process, "ok", "read", "nil")
        else:
            self._records.note(application.name, process, "fail", "read", "timed-out")
            self._record_if_wrong(status, answer)

    def _move(self, application: Shared, to: str) -> None:
        key, process, change = str(uuid.uuid4()), self._records.process(), f"[{MOVES[to]} {to}]"
        self._records.note(application.name, process, "invoke", "cas", change)
        path = f"/v1/applications/{application.identifier}/status"
        status, answer = self._write("PUT", path, {"status": to, "updated_by": "caller", "reason": key}, key)
        is_rejected = status == 400 and json.loads(answer)["code"] == "E3001"
        event = "ok" if status == 200 else "fail" if is_rejected else "info"
        self._records.note(application.name, process, event, "cas", "timed-out" if event == "info" else change)
        if event == "info":
            self._record_if_wrong(status, answer)

    def _anchor(self) -> None:
        data = uuid.uuid4().hex
        body = {"user_id": self._crowd.user_id, "report_type": "fault", "report_data": data}
        status, answer = self._send_until_known(self._ledgers, "POST", "/anchor", body, "")
        if status == 200:
            self._records.anchored.add(hashlib.sha256(data.encode()).hexdigest())
        else:
            self._record_if_wrong(status, answer)

    def _record_if_wrong(self, status: int, answer: bytes) -> None:
        if status not in _UNKNOWN:
            self._records.wrong.append(f"{status} {answer[:300]!r}")


class Crowd:
    """Groups of callers that send requests during the block."""

    def __init__(
        self, ports: list[int], ledger_ports: list[int], *, user_id: str, api_key: str, groups: int = 3, size: int = 3,
        pause_seconds: float = 0.02,
    ) -> None:  # fmt: skip
        self.ports, self.ledger_ports = ports, ledger_ports
        self.user_id, self.api_key, self.pause_seconds = user_id, api_key, pause_seconds
        self.records, self.over = Records(), threading.Event()
        self._callers: list[GroupCaller] = []
        for _ in range(groups):
            shared: deque[Shared] = deque()
            self._callers += [GroupCaller(self, shared, number) for number in range(size)]

    def __enter__(self) -> Records:
        for caller in self._callers:
            caller.start()
        return self.records

    def __exit__(self, *_caught: object) -> None:
        self.over.set()
        for caller in self._callers:
            caller.join(RETRY_SECONDS + 60)
