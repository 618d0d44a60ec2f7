"""Anchored entries. The tree hashes 64 bytes of each entry.

entry = SHA-256(report data in UTF-8) || commitment. commitment = SHA-256(nonce || canonical JSON of the submitter,
report hash, type, and time). The nonce prevents others from guessing the metadata, and allows the submitter to prove
the metadata.
"""

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import ClassVar

from config.core.json_text import canonical_json
from ledger.merkle import leaf_hash

NONCE_BYTES = 16
USER_ID_MAX = 255
REPORT_TYPE_MAX = 64
REPORT_DATA_MAX_BYTES = 10 * 1024 * 1024
# This value replaces the metadata of an erased entry.
ERASED = "erased"


def commitment_of(nonce: bytes, *, report_hash: bytes, report_type: str, timestamp: str, user_id: str) -> bytes:
    """Return the commitment (32 bytes) to an entry's metadata. `timestamp` has the format of the API."""
    document = {"hash": report_hash.hex(), "report_type": report_type, "timestamp": timestamp, "user_id": user_id}
    return sha256(nonce + canonical_json(document)).digest()


def format_timestamp(moment: datetime) -> str:
    """Format a time as RFC 3339 in UTC with microseconds and `Z`. The strings have 27 characters, and sort by time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class Submission:
    """A report to anchor: its SHA-256 and the metadata that the commitment covers."""

    report_hash: bytes
    user_id: str
    report_type: str
    nonce: bytes = field(default_factory=lambda: os.urandom(NONCE_BYTES))

    @property
    def identity(self) -> tuple[bytes, str, str]:
        return self.report_hash, self.user_id, self.report_type


@dataclass(frozen=True, slots=True)
class Receipt:
    """The place of a submission in the log."""

    report_hash: bytes
    index: int
    leaf_hash: bytes
    commitment: bytes
    nonce: bytes
    block_number: int
    duplicate: bool
    success: ClassVar[bool] = True  # every response with a receipt contains this value

    @property
    def extrinsic_hash(self) -> str:
        return f"0x{self.leaf_hash.hex()}"


def make_receipt(submission: Submission, *, index: int, block_number: int, timestamp: str) -> Receipt:
    digest, nonce = submission.report_hash, submission.nonce
    metadata = {"report_type": submission.report_type, "timestamp": timestamp, "user_id": submission.user_id}
    commitment = commitment_of(nonce, report_hash=digest, **metadata)
    leaf = leaf_hash(digest + commitment)
    return Receipt(digest, index, leaf, commitment, nonce, block_number, duplicate=False)


def has_dot_segment(user_id: str) -> bool:
    """Check whether clients would remove this id from a path as a dot segment (RFC 3986, 5.2.4)."""
    return any(segment in {".", ".."} for segment in user_id.split("/"))
