"""Being a witness (C2SP tlog-witness): cosigns checkpoints of the logs it knows, each of which only ever grows.

It keeps, for every log, the newest head that it cosigned, and signs only what continues that head. The head is kept by
compare-and-set before the signature is made: whoever kills the process in between loses a signature, and never gets two
for two trees of one size. Nothing here needs Django or the platform's database.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.core.faults import fault_point
from ledger import checkpoint as notes
from ledger import merkle
from ledger.cosignature import Cosigner

logger = logging.getLogger("platform.witness")

ADD_CHECKPOINT = "/add-checkpoint"
MAX_PROOF_HASHES = 63
SIZE_TYPE = "text/x.tlog.size"
_TEXT = "text/plain; charset=utf-8"
# `old` and a number, 63 hashes in base64 each with a newline, the empty line, and a note.
MAX_REQUEST_BYTES = 24 + 45 * MAX_PROOF_HASHES + 1 + notes.MAX_NOTE_BYTES
_LOCK_SECONDS = 5.0
_CREATE = """
    CREATE TABLE IF NOT EXISTS head (
        origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, note TEXT NOT NULL
    ) WITHOUT ROWID
"""
_STATUS_LINES = {
    200: "200 OK", 400: "400 Bad Request", 403: "403 Forbidden", 404: "404 Not Found", 405: "405 Method Not Allowed",
    409: "409 Conflict", 413: "413 Content Too Large", 422: "422 Unprocessable Content", 503: "503 Service Unavailable",
}  # fmt: skip

StartResponse = Callable[[str, list[tuple[str, str]]], object]


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    content_type: str = _TEXT


class RefusedError(Exception):
    def __init__(self, status: int, text: str, content_type: str = _TEXT) -> None:
        super().__init__(text)
        self.answer = Answer(status, f"{text}\n", content_type)


@dataclass(frozen=True)
class Submission:
    """A request to cosign, parsed and not verified."""

    old_size: int
    proof: list[bytes]
    note: str
    checkpoint: notes.Checkpoint

    @classmethod
    def from_body(cls, body: bytes) -> "Submission":
        """Parse the body of `add-checkpoint`; NoteError unless it is canonical."""
        try:
            head, separator, note = body.decode().partition("\n\n")
        except UnicodeDecodeError as error:
            raise notes.NoteError("the request is not UTF-8") from error
        old, *hashes = head.split("\n")
        if not separator or not old.startswith("old "):
            raise notes.NoteError("a request is an `old` line, a proof, an empty line and a checkpoint")
        if len(hashes) > MAX_PROOF_HASHES:
            raise notes.NoteError(f"a proof has at most {MAX_PROOF_HASHES} hashes")
        text, _ = notes.parse_note(note)
        size = notes.parse_decimal(old.removeprefix("old "))
        return cls(size, [notes.decode_hash(line) for line in hashes], note, notes.Checkpoint.from_text(text))


class HeadStore:
    """The newest cosigned head of each log, in a SQLite file of the witness's own."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it; raises sqlite3.Error."""
        self._path = path
        with self._open() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(_CREATE)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=_LOCK_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")  # what was kept outlives a power cut
            yield connection

    def read(self, origin: str) -> tuple[int, bytes]:
        """Size and root of the newest head of this log; those of the empty tree before the first."""
        with self._open() as connection:
            row = connection.execute("SELECT size, root FROM head WHERE origin = ?", [origin]).fetchone()
        return row or (0, merkle.EMPTY_ROOT)

    def replace(self, old: tuple[int, bytes], new: Submission) -> bool:
        """Keep the new head if the newest is still `old`; say whether it was."""
        head, origin = new.checkpoint, new.checkpoint.origin
        with self._open() as connection:
            if old == (0, merkle.EMPTY_ROOT):
                first = "INSERT INTO head VALUES (?, 0, ?, '') ON CONFLICT DO NOTHING"
                connection.execute(first, [origin, merkle.EMPTY_ROOT])
            changed = connection.execute(
                "UPDATE head SET size = ?, root = ?, note = ? WHERE origin = ? AND size = ? AND root = ?",
                [head.size, head.root, new.note, origin, *old],
            )
            return changed.rowcount == 1


class Witness:
    """Answers requests to cosign; any number of threads and processes may share one store."""

    def __init__(self, cosigner: Cosigner, logs: Iterable[notes.Verifier], store: HeadStore) -> None:
        self.cosigner = cosigner
        self._logs: dict[str, list[notes.Verifier]] = {}
        for log in logs:
            self._logs.setdefault(log.name, []).append(log)
        self._store = store

    def add_checkpoint(self, body: bytes) -> Answer:
        if len(body) > MAX_REQUEST_BYTES:
            return Answer(413, f"A request has at most {MAX_REQUEST_BYTES} bytes.\n")
        try:
            submission = Submission.from_body(body)
            return Answer(200, self._cosign(submission, self._check_log(submission)))
        except notes.NoteError as error:
            return Answer(400, f"The request cannot be read: {error}.\n")
        except RefusedError as refusal:
            return refusal.answer

    def _check_log(self, submission: Submission) -> str:
        """Return the checkpoint's text, once a key of its log signed it; RefusedError when none did."""
        verifiers = self._logs.get(submission.checkpoint.origin)
        if verifiers is None:
            raise RefusedError(404, "This witness does not know that log.")
        text, signatures = notes.parse_note(submission.note)
        with suppress(notes.NoteError):
            if any(notes.signatures_of(verifier, text, signatures) for verifier in verifiers):
                return text
        raise RefusedError(403, "No key that this witness knows of that log signed the checkpoint.")

    def _cosign(self, submission: Submission, text: str) -> str:
        head = submission.checkpoint
        if submission.old_size > head.size:
            raise RefusedError(400, "The old size is larger than the checkpoint's.")
        # Taken before the head is kept: at this time nothing larger had been seen.
        now = int(time.time())
        kept = size, root = self._store.read(head.origin)
        if submission.old_size != size:
            raise RefusedError(409, str(size), SIZE_TYPE)
        if size == head.size and root != head.root:
            self._report(submission, kept)
            raise RefusedError(409, "This witness cosigned another tree of that size.")
        try:
            merkle.verify_consistency(size, head.size, submission.proof, root, head.root)
        except merkle.InvalidProofError as error:
            self._report(submission, kept)
            raise RefusedError(422, f"The checkpoint does not continue the one before: {error}.") from error
        if not self._store.replace(kept, submission):
            raise RefusedError(409, str(self._store.read(head.origin)[0]), SIZE_TYPE)
        # The point of no return: from here on nothing but what continues this head is cosigned.
        fault_point("witness_kept")
        return self.cosigner.cosign(text, now).line()

    def _report(self, submission: Submission, kept: tuple[int, bytes]) -> None:
        """Leave in the log what a log signed and this witness refused: it may prove that the log forked."""
        size, root = kept
        logger.error("refused, after %s %s: %r", size, notes.encode_base64(root), submission.note)

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> list[bytes]:
        answer = self._answer(environ)
        content = answer.text.encode()
        headers = [("Content-Type", answer.content_type), ("Content-Length", str(len(content)))]
        start_response(_STATUS_LINES[answer.status], headers)
        return [content]

    def _answer(self, environ: Mapping[str, Any]) -> Answer:
        path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
        if path == "/" and method in {"GET", "HEAD"}:
            return Answer(200, f"{self.cosigner.verifier.vkey}\n")
        if path != ADD_CHECKPOINT:
            return Answer(404, "There is nothing here; checkpoints go to /add-checkpoint.\n")
        if method != "POST":
            return Answer(405, "Send the checkpoint with POST.\n")
        try:
            return self.add_checkpoint(environ["wsgi.input"].read(MAX_REQUEST_BYTES + 1))
        except sqlite3.Error:
            logger.exception("the head cannot be kept")
            return Answer(503, "The witness cannot keep what it sees now. Try again later.\n")


def read_logs(content: str) -> list[notes.Verifier]:
    """The verifier keys in a file of them, one a line; empty lines and those with # are skipped.

    Raises NoteError, with the number of the line.
    """
    logs = []
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                logs.append(notes.Verifier.from_vkey(line.strip()))
            except notes.NoteError as error:
                raise notes.NoteError(f"line {number}: {error}") from error
    return logs
