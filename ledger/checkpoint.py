"""Parsers and serializers for C2SP signed-note, tlog-checkpoint, and tlog-cosignature.

The parsers accept only the canonical form, so that two parties never disagree about the signed bytes.

A witness adds a tlog-cosignature of the Ed25519 type. The cosignature states that the checkpoint was the largest tree
of this log that the witness had seen by that time. This tree must extend all earlier trees of this log that the witness
had seen.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import ClassVar, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ledger.merkle import HASH_BYTES

KEY_ID_BYTES = 4
# Verifiers must accept at least 16 signatures (signed-note). The limit of 64 bounds the work for a malicious file.
MAX_SIGNATURES = 64
MAX_NOTE_BYTES = 64 * 1024
_TIMESTAMP_BYTES = 8
_YEAR_10000 = 253_402_300_800  # Python can't represent times from this second on
ED25519_BYTES = 64

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_BAD_NAME = re.compile(r"[\s+]")


class NoteError(ValueError):
    """A note, checkpoint, or key is not canonical, or no trusted signature is valid."""


def decode_base64(text: str) -> bytes:
    """Decode canonical standard base64 with padding, without stray bits or line breaks. Raises NoteError."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError("not base64") from error
    if encode_base64(raw) != text:
        raise NoteError("not canonical base64")
    return raw


def encode_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def parse_decimal(text: str) -> int:
    """Parse a non-negative int64 in ASCII digits without leading zeros. Raises NoteError."""
    if not _DECIMAL.fullmatch(text) or (value := int(text)) >= 1 << 63:
        raise NoteError("not a canonical decimal number")
    return value


def decode_hash(text: str) -> bytes:
    """Decode a SHA-256 hash from canonical base64. Raises NoteError."""
    raw = decode_base64(text)
    if len(raw) != HASH_BYTES:
        raise NoteError("not a SHA-256 hash")
    return raw


def check_name(name: str) -> str:
    """Return the name if it is a valid name of a key in a signed note. Raises NoteError."""
    if not name or _BAD_NAME.search(name) or _CONTROL.search(name):
        raise NoteError("a key name must be non-empty, without spaces, plus signs or control characters")
    return name


@dataclass(frozen=True)
class Verifier:
    """A name and an Ed25519 public key (32 bytes) that verify the signatures of notes."""

    name: str
    public_key: bytes
    signature_type: ClassVar[bytes] = b"\x01"

    @property
    def key_id(self) -> bytes:
        """The first four bytes of SHA-256(name, newline, signature type, public key)."""
        return sha256(self.name.encode() + b"\n" + self.signature_type + self.public_key).digest()[:KEY_ID_BYTES]

    @property
    def vkey(self) -> str:
        """The key in the form `name+id+base64`, for the configuration of verifiers."""
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(self.signature_type + self.public_key)}"

    @classmethod
    def from_vkey(cls, vkey: str) -> Self:
        """Parse `vkey`. Raises NoteError for a malformed key, another signature type, or a wrong ID."""
        parts = vkey.split("+", 2)
        if len(parts) != 3:
            raise NoteError("a verifier key has the form name+id+base64")
        raw = decode_base64(parts[2])
        if len(raw) != 1 + HASH_BYTES or raw[:1] != cls.signature_type:
            raise NoteError(f"the verifier key is not an Ed25519 key of signature type 0x{cls.signature_type.hex()}")
        verifier = cls(check_name(parts[0]), raw[1:])
        if verifier.key_id.hex() != parts[1]:
            raise NoteError("the id of the verifier key does not match the key")
        return verifier

    def accepts(self, text: str, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class Signer:
    """A name and its Ed25519 private key, which signs notes."""

    name: str
    private_key: Ed25519PrivateKey

    @property
    def verifier(self) -> Verifier:
        return Verifier(self.name, self.private_key.public_key().public_bytes_raw())

    def sign(self, text: str) -> str:
        """Return the signed note of `text`, which must end with a newline."""
        signature = Signature(self.name, self.verifier.key_id, self.private_key.sign(text.encode()))
        return f"{text}\n{signature.line()}"


@dataclass(frozen=True)
class Signature:
    name: str
    key_id: bytes
    signature: bytes

    def line(self) -> str:
        return f"\u2014 {self.name} {encode_base64(self.key_id + self.signature)}\n"


def parse_note(note: str) -> tuple[str, list[Signature]]:
    """Return the text and the unverified signatures of a signed note. Raises NoteError if the note is not canonical."""
    try:
        length = len(note.encode())
    except UnicodeEncodeError as error:
        raise NoteError("the note is not Unicode text") from error
    if length > MAX_NOTE_BYTES:
        raise NoteError("the note is too long")
    if _CONTROL.search(note):
        raise NoteError("the note contains control characters")
    body, separator, block = note.rpartition("\n\n")
    if not separator or not block.endswith("\n"):
        raise NoteError("the note has no signature block")
    lines = block[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise NoteError("the note has too many signatures")
    return body + "\n", [_parse_signature(line) for line in lines]


def _parse_signature(line: str) -> Signature:
    parts = line.split(" ")
    if len(parts) != 3 or parts[0] != "\u2014":
        raise NoteError("a signature line is malformed")
    raw = decode_base64(parts[2])
    if len(raw) <= KEY_ID_BYTES:
        raise NoteError("a signature is too short")
    return Signature(check_name(parts[1]), raw[:KEY_ID_BYTES], raw[KEY_ID_BYTES:])


def open_note(note: str, verifier: Verifier) -> str:
    """Return the text of a note. Raises NoteError if the note has no valid signature of the verifier's key.

    Every signature of the verifier's key must be valid. Signatures of other keys are ignored, because witnesses may add
    signatures (signed-note).
    """
    text, signatures = parse_note(note)
    if not signatures_of(verifier, text, signatures):
        raise NoteError(f"the note has no signature of {verifier.name}")
    return text


def signatures_of(verifier: Verifier, text: str, signatures: list[Signature]) -> list[Signature]:
    """Return the signatures of this key. Raises NoteError if a signature of this key is invalid."""
    own = [line for line in signatures if (line.name, line.key_id) == (verifier.name, verifier.key_id)]
    if not all(verifier.accepts(text, line.signature) for line in own):
        raise NoteError(f"the signature of {verifier.name} does not verify")
    return own


@dataclass(frozen=True)
class Checkpoint:
    """A tree head: the log's origin, the number of entries, and the root (32 bytes)."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"

    @classmethod
    def from_text(cls, text: str) -> "Checkpoint":
        """Parse a checkpoint's text. Raises NoteError if the text is not canonical.

        Extension lines, which the format allows, are ignored.
        """
        lines = text.split("\n")
        if len(lines) < 4 or lines.pop() or not all(lines):
            raise NoteError("a checkpoint has at least three non-empty lines")
        return cls(lines[0], parse_decimal(lines[1]), decode_hash(lines[2]))


def open_checkpoint(note: str, verifier: Verifier) -> Checkpoint:
    """Return the checkpoint in a note of the verifier's log. Raises NoteError for an invalid note or another log."""
    checkpoint = Checkpoint.from_text(open_note(note, verifier))
    if checkpoint.origin != verifier.name:
        raise NoteError(f"the checkpoint is of another log, {checkpoint.origin}")
    return checkpoint


def cosigned_message(text: str, timestamp: int) -> str:
    """Return the message that a witness signs for a checkpoint's text, at `timestamp` in seconds since 1970."""
    return f"cosignature/v1\ntime {timestamp}\n{text}"


def timestamp_of(signature: Signature) -> int:
    """Return the time of a cosignature, in seconds since 1970."""
    return int.from_bytes(signature.signature[:_TIMESTAMP_BYTES], "big")


def ed25519_of(signature: Signature) -> bytes:
    return signature.signature[_TIMESTAMP_BYTES:]


def utc_text(seconds: int) -> str:
    if seconds >= _YEAR_10000:
        return f"second {seconds} since 1970"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


class WitnessVerifier(Verifier):
    """A name and an Ed25519 public key that verify the cosignatures of a witness."""

    signature_type: ClassVar[bytes] = b"\x04"

    def accepts(self, text: str, signature: bytes) -> bool:
        """Check whether these 72 bytes (a time and a signature) are this witness's cosignature of the text."""
        timestamp = int.from_bytes(signature[:_TIMESTAMP_BYTES], "big")
        if len(signature) != _TIMESTAMP_BYTES + ED25519_BYTES or timestamp >= 1 << 63:
            return False
        return super().accepts(cosigned_message(text, timestamp), signature[_TIMESTAMP_BYTES:])

    def signature(self, timestamp: int, ed25519: bytes) -> Signature:
        return Signature(self.name, self.key_id, timestamp.to_bytes(_TIMESTAMP_BYTES, "big") + ed25519)
