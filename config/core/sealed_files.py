"""Encrypted files, written and read chunk by chunk.

Each chunk is AES-256-GCM with the number of the chunk as the nonce. The nonce also marks the last chunk, so a truncated
file can't be decrypted. A key encrypts one file.
"""

from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CHUNK_BYTES = 256 * 1024
_TAG_BYTES = 16


def new_key() -> bytes:
    return AESGCM.generate_key(bit_length=256)


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


class SealedWriter:
    """Encrypts its input and writes it to a file. `close` writes the last chunk."""

    def __init__(self, file: Any, key: bytes) -> None:
        self._file, self._cipher, self._buffer, self._number = file, AESGCM(key), bytearray(), 0

    def write(self, content: Any) -> int:
        self._buffer += content
        while len(self._buffer) > CHUNK_BYTES:
            self._seal(is_last=False)
        return len(content)

    def flush(self) -> None:
        """Do nothing: only full chunks are written."""

    def close(self) -> None:
        self._seal(is_last=True)

    def _seal(self, *, is_last: bool) -> None:
        chunk = bytes(self._buffer[:CHUNK_BYTES])
        self._file.write(self._cipher.encrypt(_nonce(self._number, is_last=is_last), chunk, None))
        del self._buffer[:CHUNK_BYTES]
        self._number += 1


def opened_chunks(file: Any, key: bytes) -> Iterator[bytes]:
    """Yield the content of an encrypted file; raises InvalidTag if it was changed or truncated."""
    cipher, number, size = AESGCM(key), 0, CHUNK_BYTES + _TAG_BYTES
    chunk = file.read(size)
    while True:
        following = file.read(size)
        yield cipher.decrypt(_nonce(number, is_last=not following), chunk, None)
        if not following:
            return
        chunk, number = following, number + 1
