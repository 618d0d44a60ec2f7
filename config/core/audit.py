"""The audit stream: one JSON line per security event, in the classes of OCSF 1.5, for a SIEM.

Each process numbers its lines, and each line contains the SHA-256 of the previous line (`prev`), so that lost or
changed lines are detectable. The hashes have no key, so an attacker with write access to the whole log can replace it.
A line contains IDs, but no names, addresses, reasons, or search terms. docs/operate/audit.md lists the kinds.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

import orjson
from django.conf import settings
from django.db import transaction

from config.core.context import request_id

AUDIT_LOGGER = "platform.audit"
START = b'{"logger":"platform.audit",'  # every line begins with this text
NO_LINE = "0" * 64  # `prev` of a process's first line
_TIME_END = 253_402_300_800_000  # ms since 1970 at the end of the year 9999
AUTHENTICATION, ENTITY, GROUP, LIFECYCLE = 3002, 3004, 3006, 6002  # classes of OCSF
CREATE, READ, UPDATE, DELETE, ENABLE, DISABLE, SUSPEND = 1, 2, 3, 4, 8, 9, 12
_CATEGORIES = {AUTHENTICATION: 3, ENTITY: 3, GROUP: 3, LIFECYCLE: 6}
_INFORMATIONAL, _LOW = 1, 2
_SUCCESS, _FAILURE = 1, 2

logger = logging.getLogger(AUDIT_LOGGER)


class Kind(NamedTuple):
    """The OCSF class and activity of an event, and whether the event is a failure."""

    class_uid: int
    activity_id: int
    failed: bool = False


_ENTITY_KINDS: dict[int, tuple[str, ...]] = {
    CREATE: (
        "report.requested", "back_office.added", "api_key.created", "oauth_client.created", "invitation.created",
        "account.created", "account.token_issued",
    ),
    READ: (
        "personal_data.page", "personal_data.list", "personal_data.unmasked", "personal_data.export",
        "account.export_requested", "account.break_glass",
    ),
    UPDATE: (
        "decision.made", "decision.proposed", "decision.confirmed", "account.deletion_requested",
        "account.deletion_canceled", "back_office.changed", "api_key.rotated", "oauth_client.changed",
        "oauth_client.secret_rotated", "invitation.accepted", "account.password_changed", "account.email_changed",
        "account.second_factor_added", "account.second_factor_removed", "account.claimed", "account.linked",
        "account.unlinked", "account.name_changed", "account.logged_out", "account.reset_mailed",
    ),
    DELETE: ("erasure", "back_office.deleted", "oauth_client.deleted"),
    ENABLE: ("api_key.confirmed", "api_key.collected"),
    DISABLE: (
        "api_key.revoked", "invitation.revoked", "consent.ended", "account.disabled", "account.access_ended",
    ),
    SUSPEND: ("api_key.suspended",),
}  # fmt: skip
KINDS: dict[str, Kind] = {
    "log_in": Kind(AUTHENTICATION, 1),
    "log_in.failed": Kind(AUTHENTICATION, 1, failed=True),
    "log_out": Kind(AUTHENTICATION, 2),
    "group.added": Kind(GROUP, 3),
    "group.removed": Kind(GROUP, 4),
    "process.started": Kind(LIFECYCLE, 3),
    "personal_data.refused": Kind(ENTITY, READ, failed=True),
    **{kind: Kind(ENTITY, activity) for activity, kinds in _ENTITY_KINDS.items() for kind in kinds},
}


def ocsf_user(user_id: Any, credential: str = "") -> dict[str, str]:
    """Return an account as OCSF's `user`: the account's id, and the public id of the credential that was used."""
    return {"uid": str(user_id), **({"credential_uid": credential} if credential else {})}


def entity(kind: str, record_id: Any = "") -> dict[str, str]:
    """Return a record as OCSF's `managed_entity`. Without an ID, the entity is a list of records."""
    return {"type": kind, **({"uid": str(record_id)} if record_id != "" else {"name": kind})}


def emit(kind: str, **members: Any) -> None:
    """Write an event's line when the transaction commits. Raises KeyError for an unknown kind."""
    transaction.on_commit(partial(CHAIN.write, _event(kind, members)), robust=True)


def emit_now(kind: str, **members: Any) -> None:
    """Write an event's line immediately, so that a rollback does not discard the line."""
    CHAIN.write(_event(kind, members))


def emit_start() -> None:
    """Write the settings of this process that affect permissions. None of these settings is secret."""
    names = (
        "SERVICE", "ENVIRONMENT", "REVIEW_POLICY", "PROVIDERS", "DECISIONING", "SIGN_UP", "BACKOFFICE_SECOND_FACTOR",
        "ANCHOR_DECISIONS", "ALLOW_SANDBOX", "STAFF_PASSWORDS", "STAFF_OIDC_GROUPS",
    )  # fmt: skip
    values = {name: getattr(settings, name) for name in names}
    emit_now("process.started", app=_product(), unmapped={"settings": values})


def _product() -> dict[str, str]:
    return {"name": "credit-platform", "uid": settings.PROVIDER_ID, "version": settings.RELEASE}


def _event(kind: str, members: dict[str, Any]) -> dict[str, Any]:
    class_uid, activity_id, failed = KINDS[kind]
    correlation = {"correlation_uid": request_id.get()} if request_id.get() else {}
    event = {
        "class_uid": class_uid,
        "category_uid": _CATEGORIES[class_uid],
        "activity_id": activity_id,
        "type_uid": class_uid * 100 + activity_id,
        "severity_id": _LOW if failed else _INFORMATIONAL,
        "status_id": _FAILURE if failed else _SUCCESS,
        "metadata": {"version": "1.5.0", "product": _product(), "event_code": kind, **correlation},
        **{name: value for name, value in members.items() if value},
    }
    if class_uid == AUTHENTICATION:
        event["service"] = {"name": settings.SERVICE}
    return event


class Chain:
    """The lines of this process. A forked process starts its own chain."""

    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock = threading.Lock()
        self.process, self.sequence, self._prev = str(uuid4()), 0, NO_LINE

    def write(self, event: dict[str, Any]) -> None:
        """Write one line. A failed write leaves a gap in the sequence numbers."""
        with self._lock:
            self.sequence += 1
            place = {"logger": AUDIT_LOGGER, "process": self.process, "sequence": self.sequence, "prev": self._prev}
            line = orjson.dumps({**place, "time": int(time.time() * 1000), **event})
            self._prev = sha256(line).hexdigest()
            logger.info("%s", line.decode())


CHAIN = Chain()


class Checked:
    """The result of checking a process's chain: the last valid line, its time (ms since 1970), and the fault."""

    def __init__(self, process: str) -> None:
        self.process, self.last, self.time, self.fault = process, 0, 0, ""
        self._before, self._digests = (0, 0), [bytes.fromhex(NO_LINE)]  # the index is a line's sequence number

    def read(self, line: bytes, event: dict[str, Any]) -> None:
        """Verify the next line. Raises ValueError, KeyError, or TypeError for an invalid sequence or time."""
        sequence, milliseconds, digest = int(event["sequence"]), int(event["time"]), sha256(line).digest()
        if not (sequence > 0 and 0 <= milliseconds < _TIME_END):
            raise ValueError
        # A collector may deliver lines twice.
        if self.fault or (sequence <= self.last and self._digests[sequence] == digest):
            return
        expected = self.last + 1
        if sequence > expected:
            self.fault = f"lines {expected} to {sequence - 1} are missing"
        elif sequence < expected:
            self.fault = f"line {sequence} follows line {self.last}"
        elif event["prev"] != self._digests[-1].hex():
            # This line or the previous line was changed, so both lines are invalid.
            self.fault = f"line {sequence} doesn't follow from line {self.last}"
            self.last, self.time = self._before
        else:
            self._before = self.last, self.time
            self.last, self.time = sequence, milliseconds
            self._digests.append(digest)


def check(lines: Iterable[bytes], *, report: Callable[[str], None] = lambda _fault: None) -> list[Checked]:
    """Verify the chain of each process in a log. Call `report` with a message for each unreadable line.

    Lines of other loggers are ignored, and so is text that a collector inserts before a line.
    """
    chains: dict[str, Checked] = {}
    for number, whole in enumerate(lines, 1):
        begin = whole.find(START)
        if begin < 0:
            continue
        line = whole[begin:].rstrip(b"\r\n")
        try:
            event = orjson.loads(line)
            process = str(event["process"])
            chains.setdefault(process, Checked(process)).read(line, event)
        except (ValueError, KeyError, TypeError, OverflowError):
            report(f"line {number} of the file is not readable")
    return list(chains.values())
