"""The guard file, which stores the last signed tree head outside of the database.

A database that was restored from a backup lacks entries. Signing new blocks in this database would create a second
history of the log. The guard file contains the last head that this machine has signed, and sealing refuses to continue
from an earlier head. The file is created before the first block. If a log has blocks but no guard file, the file was
lost. After each commit, the new head is written to the file before the response is sent. A stored head is never
replaced by an earlier head. Only one machine writes a log, so a file on this machine is sufficient.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ledger.errors import GuardDamagedError, GuardOutOfReachError
from ledger.merkle import HASH_BYTES

# A record fits into one disk sector, so a crash can't leave a partial record. Only the first write is synced to disk.
# After a power failure, the file may contain an older head, but it still detects an older backup.
_RECORD_BYTES = 128


@dataclass(frozen=True)
class Mark:
    """A signed tree head: the size in entries, and the root."""

    size: int
    root: bytes


def read() -> Mark | None:
    """Return the last head that this machine has signed, or None if the file is missing or empty.

    Raises GuardOutOfReachError and GuardDamagedError.
    """
    try:
        descriptor = os.open(settings.LEDGER_GUARD_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            record = os.read(descriptor, _RECORD_BYTES)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GuardOutOfReachError(f"The log's guard file cannot be read ({error.strerror}).") from error
    return _parse(record)


def probe() -> Mark | None:
    """Return the result of `read`, and rewrite the file's bytes to check that the file is writable.

    Creates an empty file if none exists. Raises GuardOutOfReachError and GuardDamagedError.
    """
    with _locked() as descriptor:
        record = os.pread(descriptor, _RECORD_BYTES, 0)
        if record:
            os.pwrite(descriptor, record, 0)
    return _parse(record)


def advance(mark: Mark) -> None:
    """Store a signed head unless the file contains a larger head. Raises GuardOutOfReachError and GuardDamagedError."""
    with _locked() as descriptor:
        known = _parse(os.pread(descriptor, _RECORD_BYTES, 0))
        if known is None or known.size < mark.size:
            _write(descriptor, mark)
        if known is None:
            os.fsync(descriptor)


def replace(mark: Mark) -> None:
    """Store this head at an operator's request, regardless of the file's content. Raises GuardOutOfReachError."""
    with _locked() as descriptor:
        os.ftruncate(descriptor, 0)
        _write(descriptor, mark)
        os.fsync(descriptor)


def _write(descriptor: int, mark: Mark) -> None:
    content = json.dumps({"size": mark.size, "root": mark.root.hex()}).encode()
    os.pwrite(descriptor, content.ljust(_RECORD_BYTES - 1) + b"\n", 0)


@contextmanager
def _locked() -> Iterator[int]:
    """Open the file, and lock it against other processes of this machine. Converts OSError to GuardOutOfReachError."""
    try:
        Path(settings.LEDGER_GUARD_FILE).parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(settings.LEDGER_GUARD_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise GuardOutOfReachError(f"The log's guard file cannot be written ({error.strerror}).") from error


def _parse(record: bytes) -> Mark | None:
    if not record:
        return None
    try:
        document = json.loads(record)
        mark = Mark(document["size"], bytes.fromhex(document["root"]))
    except (ValueError, TypeError, KeyError) as error:
        raise GuardDamagedError from error
    if type(mark.size) is not int or mark.size < 0 or len(mark.root) != HASH_BYTES:
        raise GuardDamagedError
    return mark
