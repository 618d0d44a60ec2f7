"""Cosignatures of the log's witnesses: requests, storage, and the wait for a quorum.

A separate process (`manage.py ask_witnesses`) sends the newest checkpoint to the witnesses at most once per second.
Anchoring never waits for the witnesses, and the process does not lock the log.
"""

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.core.leases import contain
from config.core.outgoing import Answer, NoAnswer, exchange
from ledger import log
from ledger.checkpoint import (
    MAX_NOTE_BYTES,
    NoteError,
    ed25519_of,
    encode_base64,
    parse_decimal,
    parse_note,
    signatures_of,
    timestamp_of,
)
from ledger.errors import LogDamagedError, NotWitnessedYetError
from ledger.keys import signer
from ledger.models import Block, Cosignature, WitnessOutcome, database
from ledger.policy import NONE, Policy, PolicyError, PolicyLog, Witness

logger = logging.getLogger("platform.ledger")

WAIT_SECONDS = 20.0  # the timeout of a request is 30 s
_LOOK_SECONDS = 0.5
# At most 8 of the 32 threads may wait for witnesses, because anchoring needs the other threads.
WAITING_MAX = 8
PEER_SECONDS = 3_600
# After this time, an unchanged log is cosigned again, because a cosignature only proves the newest head of its time.
_AGAIN_SECONDS = 1_800
ASK_SECONDS = 5.0  # a run sends at most two requests to a witness
_RETRY_SECONDS_MAX = 60.0
_CLOCK_SECONDS = 300  # a witness's clock may be ahead by this time
# The search for a quorum checks this number of the newest blocks, and of the oldest blocks.
_CANDIDATES = 3

COSIGNED = "cosigned"
_REFUSALS = {
    400: ("bad_request", "cannot read the request"),
    403: ("unknown_key", "does not accept this log's key"),
    404: ("unknown_log", "does not know this log"),
    409: ("conflict", "cosigned another tree of the same size: this log has shown two histories"),
    422: ("inconsistent", "does not see that this log continues what it cosigned: it may have shown two histories"),
}
_AHEAD = ("ahead", "cosigned a larger tree than this log has: its database lacks entries that were signed")
_UNREADABLE = ("unreadable", "answered with no cosignature of its own")


@lru_cache(maxsize=8)
def _read_policy(path: str) -> Policy:
    try:
        policy_read = Policy.read(Path(path))
        for witness in policy_read.witnesses:
            _check_address(witness)
    except OSError as error:
        raise ImproperlyConfigured(f"WITNESS_POLICY={path!r} cannot be read ({error.strerror}).") from error
    except PolicyError as error:
        raise ImproperlyConfigured(f"WITNESS_POLICY={path!r} must be a policy in C2SP's format: {error}.") from error
    return policy_read


def _check_address(witness: Witness) -> None:
    try:
        parts = urlsplit(witness.url or "https://none.example")
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment:
        raise PolicyError(f"the witness {witness.name!r} requires an address that is an http or https prefix")


def policy() -> Policy | None:
    """Return this log's policy, or None without witnesses. Raises ImproperlyConfigured for an invalid file."""
    return _read_policy(settings.WITNESS_POLICY) if settings.WITNESS_POLICY else None


def published_policy() -> str:
    """Return the policy for verifiers of this log's proofs, with the log's key, its witnesses, and the quorum."""
    own = policy() or Policy(quorum=NONE)
    return Policy([PolicyLog(signer().verifier, None)], own.witnesses, own.groups, own.quorum).text()


def count_peers(now: datetime) -> int:
    own = policy()
    if own is None:
        return 0
    fresh = Cosignature.objects.filter(timestamp__gte=int(now.timestamp()) - PEER_SECONDS)
    return sum(fresh.filter(witness=witness.verifier.vkey).exists() for witness in own.witnesses)


_waiting = threading.BoundedSemaphore(WAITING_MAX)


def wait_for_head(index: int) -> log.Head:
    """Wait for the newest head with a quorum that covers this entry. No transaction is open during the wait.

    Raises NotWitnessedYetError after the timeout, if too many requests are waiting, or if the log has no witnesses.
    """
    own = policy()
    if own is None:
        raise NotWitnessedYetError("This log has no witnesses. Send the request without `witnessed`.")
    head = witnessed_head(own, index)
    if head is None and _waiting.acquire(blocking=False):
        try:
            deadline = time.monotonic() + WAIT_SECONDS
            while head is None and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
                head = witnessed_head(own, index)
        finally:
            _waiting.release()
    if head is None:
        raise NotWitnessedYetError
    return head


def witnessed_head(own: Policy, index: int) -> log.Head | None:
    """Return the newest head with a quorum that covers this entry, or None if no head has a quorum."""
    if own.quorum == NONE:
        return log.read_head()
    first = Block.objects.filter(tree_size__gt=index).order_by("tree_size")[:1].values("number")
    cosigned = Cosignature.objects.filter(block_id__gte=first).values_list("block_id", flat=True).distinct()
    # During a witness's outage, only older blocks have a quorum, so also check the oldest blocks.
    numbers = {*cosigned.order_by("-block_id")[:_CANDIDATES], *cosigned.order_by("block_id")[:_CANDIDATES]}
    for row in Block.objects.filter(number__in=numbers).order_by("-number").values_list(*log.HEAD_COLUMNS):
        head = log.Head(*row)
        try:
            times = own.cosigned(log.cosigned_checkpoint(head))
        except NoteError as error:
            raise LogDamagedError from error
        if own.is_met_by(set(times)):
            return head
    return None


@dataclass
class _WitnessState:
    witness: Witness
    call: "Future[Answer]" = field(default_factory=Future)
    known_size: int = 0
    sent_size: int = 0
    outcome: str = ""
    failures: int = 0
    not_before: float = 0.0


class Asker:
    """Sends requests to each witness with a URL.

    The instance stores the failures in memory, so use only one instance per process.
    """

    def __init__(self, own: Policy) -> None:
        self._witnesses = [_WitnessState(witness) for witness in own.witnesses if witness.url]
        self._threads = ThreadPoolExecutor(max_workers=len(self._witnesses) or 1, thread_name_prefix="witness")

    def ask(self, *, now: datetime) -> dict[str, int]:
        """Request missing cosignatures of the newest checkpoint. Return the numbers of cosignatures and failures."""
        counts = {COSIGNED: 0, "failed": 0}
        head = log.read_head(database().alias)
        if head.number == 0:
            return counts
        due = [state for state in self._witnesses if self._is_due(state, head, now)]
        self._send([(state, state.known_size) for state in due], head)
        behind = self._receive(due, head, now)
        self._send(behind, head)
        self._receive([state for state, _ in behind], head, now, again=True)
        for state in due:
            counts[COSIGNED if state.outcome == COSIGNED else "failed"] += 1
        return counts

    def _is_due(self, state: _WitnessState, head: log.Head, now: datetime) -> bool:
        if time.monotonic() < state.not_before:
            return False
        cosignatures = Cosignature.objects.using(database().alias).filter(witness=state.witness.verifier.vkey)
        newest = cosignatures.order_by("-timestamp", "-block_id").select_related("block").first()
        state.known_size = newest.block.tree_size if newest else 0
        return newest is None or newest.block_id != head.number or now.timestamp() - newest.timestamp > _AGAIN_SECONDS

    def _send(self, targets: list[tuple[_WitnessState, int]], head: log.Head) -> None:
        """Start a request to each witness, with a consistency proof from the size that the witness has cosigned."""
        request_from = lru_cache(partial(_request, head=head))
        for state, old_size in targets:
            address = f"{str(state.witness.url).rstrip('/')}/add-checkpoint"
            state.sent_size, state.call = old_size, Future()
            try:
                body = request_from(old_size)
            except Exception as error:  # noqa: BLE001  a witness must not stop the other witnesses
                state.call.set_exception(error)
                continue
            state.call = self._threads.submit(
                exchange, "POST", address, body=body, seconds=ASK_SECONDS, max_bytes=MAX_NOTE_BYTES
            )

    def _receive(
        self, sent: list[_WitnessState], head: log.Head, now: datetime, *, again: bool = False
    ) -> list[tuple[_WitnessState, int]]:
        """Store the cosignatures. Return `(witness, size)` for each witness that has cosigned a different size.

        With `again`, return an empty list, and store the outcomes of these witnesses instead.
        """
        behind = []
        for state in sent:
            try:
                word, meaning, size = self._outcome_of(state, head, now)
            except Exception as error:  # noqa: BLE001  a witness must not stop the other witnesses
                name = contain(error, "witness", state.witness.name)
                word, meaning, size = "fault", f"could not be asked ({name})", None
            if size is not None and size <= head.tree_size and not again:
                behind.append((state, size))
                continue
            self._store_outcome(state, word, meaning, now)
        return behind

    def _outcome_of(self, state: _WitnessState, head: log.Head, now: datetime) -> tuple[str, str, int | None]:
        """Return the outcome of a request, its meaning, and the tree size in a conflict response.

        The size is None if the response contains no size, or if the response repeats the size that was sent and that
        size is current.
        """
        try:
            answer = state.call.result()
            if answer.status == HTTPStatus.OK:
                self._store_cosignature(state, head, answer.body.decode(), now)
                return COSIGNED, "cosigns", None
            size = _conflict_size(answer)
        except NoAnswer as error:
            return "silent", f"gave no answer ({error.word})", None
        except (NoteError, UnicodeDecodeError):
            return *_UNREADABLE, None
        if size is not None and not size == state.sent_size == head.tree_size:
            return *_meaning_of(size, head), size
        return *_REFUSALS.get(answer.status, (f"status_{answer.status}", f"answered {answer.status}")), None

    def _store_cosignature(self, state: _WitnessState, head: log.Head, lines: str, now: datetime) -> None:
        """Verify and store this witness's cosignature. Raises NoteError without a cosignature of this witness."""
        text, signatures = parse_note(head.checkpoint + lines)
        own = signatures_of(state.witness.verifier, text, signatures)
        if not own:
            raise NoteError("the answer has no cosignature of this witness")
        newest = max(own, key=timestamp_of)
        if timestamp_of(newest) > now.timestamp() + _CLOCK_SECONDS:
            raise NoteError("the witness's clock is ahead")
        Cosignature.objects.using(database().alias).get_or_create(
            block_id=head.number,
            witness=state.witness.verifier.vkey,
            timestamp=timestamp_of(newest),
            defaults={"signature": ed25519_of(newest)},
        )

    def _store_outcome(self, state: _WitnessState, outcome: str, meaning: str, now: datetime) -> None:
        """Update the state and the retry time. If the outcome changed, log it and store it for the metrics."""
        state.failures = 0 if outcome == COSIGNED else state.failures + 1
        state.not_before = time.monotonic() + min(2.0**state.failures, _RETRY_SECONDS_MAX) if state.failures else 0.0
        if outcome == state.outcome:
            return
        if outcome != COSIGNED:
            logger.warning("witness %s (%s): %s", state.witness.name, outcome, meaning)
        elif state.outcome:
            logger.info("witness %s cosigns again", state.witness.name)
        state.outcome = outcome
        WitnessOutcome.objects.using(database().alias).update_or_create(
            witness=state.witness.verifier.vkey, defaults={"outcome": outcome, "since": now}
        )


def _request(old_size: int, head: log.Head) -> bytes:
    """Return the body of `add-checkpoint`: the consistency proof from the old size, and the head's checkpoint."""
    proof = log.consistency_proof(old_size, head.tree_size, head)
    lines = [f"old {old_size}", *(encode_base64(digest) for digest in proof)]
    return ("\n".join(lines) + f"\n\n{head.checkpoint}").encode()


def _meaning_of(size: int, head: log.Head) -> tuple[str, str]:
    """Return `(outcome, meaning)` for a witness that has cosigned a different size."""
    if size > log.read_head(database().alias).tree_size:
        return _AHEAD
    if size > head.tree_size:
        return COSIGNED, "cosigned a newer checkpoint already"
    return "moving", "names another size each time"


def _conflict_size(answer: Answer) -> int | None:
    """Return the tree size in a conflict response. Raises NoteError if it is not a number."""
    kind = answer.headers.get("content-type", "")
    if answer.status != HTTPStatus.CONFLICT or not kind.startswith("text/x.tlog.size"):
        return None
    return parse_decimal(answer.body.decode().removesuffix("\n"))
