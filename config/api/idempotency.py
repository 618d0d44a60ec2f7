"""Idempotency-Key: the API executes a request once per key, and every retry gets the same response bytes.

Work that only uses the database runs in one transaction with the stored response:

1. The API tries `pg_try_advisory_xact_lock` on (owner, key). While the first request runs, a second request with the
   key gets 409. The unique constraint on (owner, key) prevents two executions. The lock only avoids wasted work.
2. The API looks up the stored response, and replays it. If the key belongs to a different request, the API raises
   IdempotencyMismatch.
3. The work runs, and the API inserts the response. If another execution committed first, the INSERT fails. This
   execution is then rolled back, and the stored response is replayed.

If a process dies, its transaction is rolled back. A paused process locks the key until PostgreSQL ends the idle
transaction (`config.core.databases.IDLE_TRANSACTION_SECONDS`), and fails when it resumes. SQLite has one writer at a
time, so a second request waits, and then replays the response.

Work that calls a vendor manages its own transactions. `run_leased` first commits a claim to the key. If the process
dies, another request can claim the key after LEASE.

Responses with secrets are encrypted. Domain errors, such as a forbidden transition, are stored. Errors that a retry may
resolve (`ApiError.stored` is False) are not stored.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, connection, transaction
from django.http import HttpResponse
from django.utils import timezone

from config.api.models import IdempotencyRecord
from config.core.databases import retry_deadlocks
from config.core.errors import ApiError
from config.core.idempotency_keys import RequestInProgress, read_key
from config.core.prepared import PreparedSelect, execute, insert

KEEP_HOURS = 72  # longer than the outage of a client over a weekend
LEASE = timedelta(seconds=90)  # longer than any request; a retry can then claim a key without a response

Seal = Callable[[bytes, str], bytes]

NOBODY = 0  # the owner of keys in requests without a credential
RESERVED = 0  # the status of a key without a response


class IdempotencyMismatch(ApiError):
    status, error, code = 422, "idempotency_mismatch", "E1010"
    message = "This Idempotency-Key was used for another request. Send a new key."


_find_record = PreparedSelect(
    lambda owner_id, key: IdempotencyRecord.objects.filter(owner_id=owner_id, key=key),
    ("fingerprint", "status", "body", "created_at", "permanent", "subject"),
).first


class _DuplicateKey(IntegrityError):
    """Another execution with the same key committed first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    body: bytes
    replayed: bool = False
    seal: Seal | None = None  # encrypts the body; the second argument is its `place_of`

    def response(self) -> HttpResponse:
        content_type = "application/json" if self.body else None
        headers = {"Idempotent-Replayed": "true"} if self.replayed else None
        return HttpResponse(self.body, status=self.status, content_type=content_type, headers=headers)


@dataclass(frozen=True, slots=True)
class ReservableKey:
    """The key of a request, which can be reserved before a response exists.

    Work that calls a vendor can't run in the transaction of its response. The work reserves the key together with its
    record (`reserve`), calls the vendor, and commits the outcome and the response together (`complete`). A concurrent
    request with the same key loads the record (`find`), and waits or resumes the work.
    """

    owner_id: int
    key: UUID
    fingerprint: str  # SHA-256 in hex of the method, the path, and the canonical JSON of the body

    @property
    def place(self) -> str:
        return place_of(self.owner_id, self.key)

    @classmethod
    def of(cls, request: Any, document: object) -> "ReservableKey | None":
        """Return the key of an API request with this body, or None if the header is missing.

        Raises InvalidIdempotencyKey.

        If the request has no credential, the endpoint's method sets `owner_id` (`dataclasses.replace`).
        """
        key = read_key(request)
        if key is None:
            return None
        digest = hashlib.sha256(f"{request.method}\n{request.path}\n".encode())
        digest.update(orjson.dumps(document, default=_fingerprint_of, option=orjson.OPT_SORT_KEYS))
        return cls(NOBODY if request.auth is None else request.auth.user_id, key, digest.hexdigest())

    def claim(self) -> Outcome | None:
        """Lock the key for this transaction. Return its stored response or None. Raises the errors of `stored`."""
        if connection.vendor == "postgresql":
            name = hashlib.sha256(b"%d:%b" % (self.owner_id, self.key.bytes)).digest()
            lock = int.from_bytes(name[:8], "big", signed=True)
            rows, _ = execute(transaction.get_connection(), "SELECT pg_try_advisory_xact_lock(%s)", [lock])
            if not rows[0][0]:
                raise RequestInProgress
        return self.stored()

    def stored(self) -> Outcome | None:
        """Return the stored response or None. Raises RequestInProgress for a reserved key, and the errors of `find`."""
        match = self.find()
        if isinstance(match, str):
            raise RequestInProgress
        return match

    def find(self) -> Outcome | str | None:
        """Return the stored response, the record ID (`subject`) of a reserved key, or None for a free key.

        Raises IdempotencyMismatch if the key was used for another request.
        """
        row = _find_record(owner_id=self.owner_id, key=self.key)
        if row is None:
            return None
        fingerprint, status, body, created_at, permanent, subject = row
        if not permanent and timezone.now() - created_at > timedelta(hours=KEEP_HOURS):
            # After its documented lifetime, a key is free, even if its row is not pruned yet.
            IdempotencyRecord.objects.filter(owner_id=self.owner_id, key=self.key, created_at=created_at).delete()
            return None
        if fingerprint != self.fingerprint:
            raise IdempotencyMismatch
        return str(subject) if status == RESERVED else Outcome(status, bytes(body), replayed=True)

    def store(self, outcome: Outcome, **columns: Any) -> IdempotencyRecord:
        """Store a response. Raises IntegrityError if another execution stored a response first."""
        record = IdempotencyRecord(
            owner_id=self.owner_id,
            key=self.key,
            fingerprint=self.fingerprint,
            status=outcome.status,
            body=_stored_body(outcome, self.owner_id, self.key),
            created_at=timezone.now(),
            **columns,
        )
        try:
            insert(record)
        except IntegrityError as error:
            raise _DuplicateKey from error
        return record

    def reserve(self, subject: str) -> None:
        """Reserve the key in the transaction that creates the subject. Raises IntegrityError like `store`."""
        self.store(Outcome(RESERVED, b""), subject=subject, permanent=True)


def place_of(owner_id: int, key: UUID) -> str:
    """Return the associated data for the encryption of a stored body: its owner and key."""
    return f"{IdempotencyRecord._meta.db_table}|body|{owner_id}|{key}"


def _stored_body(outcome: Outcome, owner_id: int, key: UUID) -> bytes:
    return outcome.body if outcome.seal is None else outcome.seal(outcome.body, place_of(owner_id, key))


def _fingerprint_of(value: Any) -> list[str]:
    """Return the name and the SHA-256 of a file, which represent the file in a fingerprint."""
    if not isinstance(value, UploadedFile):
        raise TypeError(f"{type(value)} is not a file.")
    value.seek(0)
    digest = hashlib.sha256(value.read()).hexdigest()
    value.seek(0)
    return [value.name or "", digest]


def run_once(key: ReservableKey | None, work: Callable[[], Outcome]) -> Outcome:
    """Run `work` in a transaction, at most once per key. A retry gets the stored bytes.

    After a deadlock, `work` runs again. Raises IdempotencyMismatch, RequestInProgress, or an error of `work` that is
    not stored.
    """
    try:
        return retry_deadlocks(partial(_run, key, work))
    except _DuplicateKey:
        stored = None if key is None else key.stored()
        if stored is None:
            raise RequestInProgress from None
        return stored
    except ApiError as error:
        if key is None or not error.stored:
            raise
        response = error.response()
    # A separate transaction stores the error, because the transaction of `work` was rolled back.
    return run_once(key, lambda: Outcome(response.status_code, response.content))


@transaction.atomic
def _run(key: ReservableKey | None, work: Callable[[], Outcome]) -> Outcome:
    stored = None if key is None else key.claim()
    if stored is not None:
        return stored
    outcome = work()
    if key is not None:
        key.store(outcome)
    return outcome


def run_leased(key: ReservableKey | None, work: Callable[[], Outcome]) -> Outcome:
    """Run `work`, which manages its own transactions, for one request per key at a time. Replay the stored response.

    Raises IdempotencyMismatch, RequestInProgress, or an error of `work` that is not stored.
    """
    if key is None:
        return work()
    try:
        lease = _claim_lease(key)
    except _DuplicateKey:
        raise RequestInProgress from None
    if isinstance(lease, Outcome):
        return lease
    own = IdempotencyRecord.objects.filter(pk=lease.pk, status=RESERVED)
    try:
        outcome = work()
    except ApiError as error:
        if not error.stored:
            own.delete()
            raise
        response = error.response()
        outcome = Outcome(response.status_code, response.content)
    except BaseException:
        own.delete()
        raise
    body = _stored_body(outcome, key.owner_id, key.key)
    answer = {"status": outcome.status, "body": body, "created_at": timezone.now()}
    if not own.update(**answer):  # `work` deleted the account's records, or another request claimed the key
        return run_once(key, lambda: outcome)
    return outcome


@transaction.atomic
def _claim_lease(key: ReservableKey) -> IdempotencyRecord | Outcome:
    """Return a new lease of the key, or the stored response. Raises the errors of `stored`, and _DuplicateKey."""
    try:
        stored = key.claim()
    except RequestInProgress:
        abandoned = {"status": RESERVED, "permanent": False, "created_at__lt": timezone.now() - LEASE}
        if not IdempotencyRecord.objects.filter(owner_id=key.owner_id, key=key.key, **abandoned).delete()[0]:
            raise
        stored = None
    return key.store(Outcome(RESERVED, b"")) if stored is None else stored


def complete(*, owner_id: int, key: UUID, outcome: Outcome) -> None:
    """Store the response of a reserved key in the transaction that commits the outcome.

    An existing response is not replaced.
    """
    IdempotencyRecord.objects.filter(owner_id=owner_id, key=key, status=RESERVED).update(
        status=outcome.status, body=_stored_body(outcome, owner_id, key)
    )


def stored_outcome(owner_id: int, key: UUID) -> Outcome | None:
    """Return the stored response of a key, or None. The request's fingerprint is not compared."""
    record = IdempotencyRecord.objects.filter(owner_id=owner_id, key=key).exclude(status=RESERVED).first()
    return None if record is None else Outcome(record.status, bytes(record.body), replayed=True)
