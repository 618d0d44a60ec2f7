"""C2SP tlog-cosignature, of the type with Ed25519: a witness's dated word that a log only grew.

It says that at this time the checkpoint was the largest tree of this log that the witness had seen, and that it
continues everything that the witness saw of it before.
"""

from datetime import UTC, datetime
from typing import ClassVar

from ledger.checkpoint import Signature, Verifier

COSIGNATURE_TYPE = b"\x04"
_TIMESTAMP_BYTES = 8
_YEAR_10000 = 253_402_300_800  # in seconds since 1970; later times are allowed, and have no date in Python
ED25519_BYTES = 64


def cosigned_message(text: str, timestamp: int) -> str:
    """Return what a witness signs for a checkpoint's text, seen at `timestamp`, in seconds since 1970."""
    return f"cosignature/v1\ntime {timestamp}\n{text}"


def timestamp_of(signature: Signature) -> int:
    """When a witness cosigned, in seconds since 1970."""
    return int.from_bytes(signature.signature[:_TIMESTAMP_BYTES], "big")


def ed25519_of(signature: Signature) -> bytes:
    return signature.signature[_TIMESTAMP_BYTES:]


def utc_text(seconds: int) -> str:
    if seconds >= _YEAR_10000:
        return f"second {seconds} since 1970"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


class WitnessVerifier(Verifier):
    """A name and an Ed25519 public key that is trusted to cosign checkpoints."""

    signature_type: ClassVar[bytes] = COSIGNATURE_TYPE

    def accepts(self, text: str, signature: bytes) -> bool:
        """Whether these 72 bytes, a time and a signature, are this witness's cosignature of the checkpoint's text."""
        timestamp = int.from_bytes(signature[:_TIMESTAMP_BYTES], "big")
        if len(signature) != _TIMESTAMP_BYTES + ED25519_BYTES or timestamp >= 1 << 63:
            return False
        return super().accepts(cosigned_message(text, timestamp), signature[_TIMESTAMP_BYTES:])

    def signature(self, timestamp: int, ed25519: bytes) -> Signature:
        return Signature(self.name, self.key_id, timestamp.to_bytes(_TIMESTAMP_BYTES, "big") + ed25519)
