"""Proof files in the format C2SP tlog-proof. They can be verified offline, even years later.

The `extra` line is the commitment (32 bytes). The report's hash and the commitment are the 64 bytes of the entry. So a
verifier needs only the report, the file, and the log's public key.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from ledger import checkpoint as notes
from ledger import merkle
from ledger.policy import Policy

HEADER = "c2sp.org/tlog-proof@v1"
# An audit path in a tree of 2^63 entries has 63 hashes.
MAX_PATH = 63

_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


@dataclass(frozen=True)
class ProofFile:
    """A tlog-proof: the entry's index, the audit path, and the signed checkpoint."""

    index: int
    path: tuple[bytes, ...]
    checkpoint_note: str
    extra: bytes | None = None

    def text(self) -> str:
        lines = [HEADER]
        if self.extra is not None:
            lines.append(f"extra {notes.encode_base64(self.extra)}")
        lines.append(f"index {self.index}")
        lines += [notes.encode_base64(digest) for digest in self.path]
        return "\n".join(lines) + "\n\n" + self.checkpoint_note

    @classmethod
    def from_text(cls, text: str) -> "ProofFile":
        """Parse a proof file without verifying it. Raises NoteError if the file is not canonical."""
        head, separator, note = text.partition("\n\n")
        lines = head.split("\n")
        if not separator or lines.pop(0) != HEADER:
            raise notes.NoteError(f"a proof file begins with {HEADER}")
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = notes.decode_base64(lines.pop(0).removeprefix("extra "))
        if not lines or not lines[0].startswith("index "):
            raise notes.NoteError("the proof file has no index line")
        index = notes.parse_decimal(lines.pop(0).removeprefix("index "))
        if len(lines) > MAX_PATH:
            raise notes.NoteError("the audit path is too long")
        path = tuple(notes.decode_hash(line) for line in lines)
        notes.parse_note(note)
        return cls(index, path, note, extra)


@dataclass(frozen=True)
class Step:
    """One step of a check: its name, whether it passed, and the detail."""

    name: str
    ok: bool
    detail: str


def check_proof(text: str, report_hash: bytes, verifier: notes.Verifier, policy: Policy | None = None) -> list[Step]:
    """Verify a proof file offline, with a report's SHA-256 and the log's key.

    With a policy, the checkpoint must have the policy's quorum of witnesses. Returns the steps up to the first failure.
    If the last step is ok, the report is proven.
    """
    try:
        proof = ProofFile.from_text(text)
    except notes.NoteError as error:
        return [Step("file", ok=False, detail=f"The proof file cannot be read: {error}.")]
    if proof.extra is None or len(proof.extra) != merkle.HASH_BYTES:
        return [Step("file", ok=False, detail="The proof file lacks the 32-byte commitment in its extra line.")]
    steps = [Step("file", ok=True, detail=f"A proof for entry {proof.index}, {len(proof.path)} hashes long.")]
    try:
        head = notes.open_checkpoint(proof.checkpoint_note, verifier)
    except notes.NoteError as error:
        return [*steps, Step("checkpoint", ok=False, detail=f"The checkpoint can't be trusted: {error}.")]
    signed = f"{head.origin} signed a tree of {head.size} entries with root {head.root.hex()}."
    steps.append(Step("checkpoint", ok=True, detail=signed))
    if policy is not None:
        steps.append(_witnesses_step(proof.checkpoint_note, policy))
        if not steps[-1].ok:
            return steps
    leaf = merkle.leaf_hash(report_hash + proof.extra)
    steps.append(Step("leaf", ok=True, detail=f"The report and the commitment result in the leaf {leaf.hex()}."))
    try:
        merkle.verify_inclusion(leaf, proof.index, head.size, proof.path, head.root)
    except merkle.InvalidProofError as error:
        detail = f"This report is not entry {proof.index} of that tree: {error}."
        return [*steps, Step("inclusion", ok=False, detail=detail)]
    detail = f"The path from the leaf ends in the signed root: the report is entry {proof.index}."
    return [*steps, Step("inclusion", ok=True, detail=detail)]


def check_with_any(
    text: str, report_hash: bytes, verifiers: Iterable[notes.Verifier], policy: Policy | None = None
) -> tuple[list[Step], notes.Verifier]:
    """Verify a proof file with the key that signed its checkpoint.

    If none of the keys signed the checkpoint, verify with the last key.
    """
    for verifier in verifiers:
        steps = check_proof(text, report_hash, verifier, policy)
        if steps[-1].name != "checkpoint":  # this step fails if the key belongs to another log
            break
    return steps, verifier


def _witnesses_step(note: str, policy: Policy) -> Step:
    try:
        times = policy.cosigned(note)
    except notes.NoteError as error:
        return Step("witnesses", ok=False, detail=f"The cosignatures can't be trusted: {error}.")
    is_met = policy.is_met_by(set(times))
    verdict = "That is the quorum." if is_met else f"The quorum, {policy.quorum}, is not reached."
    return Step("witnesses", ok=is_met, detail=f"{policy.describe(times)} {verdict}")


def report_digest(report_data: str) -> bytes:
    return sha256(report_data.encode()).digest()


def parse_report_hash(text: str) -> bytes | None:
    """Parse 64 hex characters in any case. Returns None for any other string."""
    return bytes.fromhex(text) if _HEX.fullmatch(text) else None
